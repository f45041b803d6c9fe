import type { Answer, JsonSchema, Route } from './route.ts'
import { problemSchema } from './schemas.ts'

/** The OpenAPI 3.1 document of the routes. */
export function openApiDocument(routes: readonly Route[], version: string): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {}
  const schemas: Record<string, JsonSchema> = {}
  /** A schema with a title becomes a component. */
  const named = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(named)
    if (typeof schema !== 'object' || schema === null) return schema
    const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, named(part)]))
    const { title } = parts
    if (typeof title !== 'string') return parts
    schemas[title] = parts
    return { $ref: `#/components/schemas/${title}` }
  }
  const problem = { 'application/problem+json': { schema: named(problemSchema) } }

  for (const route of routes) {
    const { method, path, scope, summary, query = {}, headers = {}, body, rawBody, answers } = route
    paths[path] ??= {}
    paths[path][method.toLowerCase()] = {
      summary,
      operationId: operationId(route),
      security: scope === 'public' ? [] : [{ token: [] }],
      ...(scope !== 'public' && { 'x-scope': scope }),
      parameters: [
        ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
          name,
          in: 'path',
          required: true,
          schema: { type: 'string' },
        })),
        ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', schema })),
        ...Object.entries(headers).map(([name, description]) => ({
          ...{ name, in: 'header', description },
          schema: { type: 'string' },
        })),
      ],
      ...(body && { requestBody: { content: { 'application/json': { schema: named(body) } } } }),
      ...(rawBody !== undefined && { requestBody: { content: { [rawBody]: {} } } }),
      responses: {
        ...Object.fromEntries(
          Object.entries(answers).map(([status, answer]) => [status, responseOf(answer, Number(status))]),
        ),
        default: { description: 'Why it was refused', content: problem },
      },
    }
  }

  function responseOf(
    { description, schema, example, type = 'application/json', others = {} }: Answer,
    status: number,
  ): object {
    if (status >= 400) return { description, content: problem }
    if (!schema && type === 'application/json') return { description }
    return {
      description,
      content: {
        [type]: { ...(schema && { schema: named(schema) }), ...(example !== undefined && { example }) },
        ...Object.fromEntries(Object.entries(others).map(([name, other]) => [name, { schema: named(other) }])),
      },
    }
  }

  return {
    openapi: '3.1.0',
    info: { title: 'Libero', version, description: 'Sessions and agents: send, answer, stop, follow by number.' },
    paths,
    components: { schemas, securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
  }
}

/** `GET /v1/sessions/{id}` is `getSessionsId`. */
function operationId({ method, path }: Route): string {
  const words = path
    .replace(/^\/v1/, '')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
  return method.toLowerCase() + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')
}
