import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { checkedAs } from '../../src/core/is-record.ts'
import { openApiDocument } from '../../src/server/openapi.ts'
import type { Route } from '../../src/server/route.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'

/** The document, as far as tests look into it. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly in: string }[]
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { example?: unknown }>> }>>
}

export const document = checkedAs<OpenApi>(openApiDocument(allRoutes, '1.2.3'))

const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema(document, 'document')

/** As the OpenAPI initiative publishes it: https://spec.openapis.org/oas/3.1/schema/2026-08-03, without formats. */
const official = new Ajv2020({ strict: false, validateFormats: false }).compile(
  JSON.parse(readFileSync(new URL('../fixtures/openapi-3.1.schema.json', import.meta.url), 'utf8')),
)

/** What is wrong with an OpenAPI document. */
export function documentProblems(value: unknown): readonly string[] {
  return official(value) ? [] : errorsOf(official)
}

/** What is wrong with the body of an answer, by what the document declares for its status and media type. */
export function answerProblems(
  { method, path }: Pick<Route, 'method' | 'path'>,
  answer: { readonly status: number; readonly type: string; readonly body: string },
): readonly string[] {
  const { responses } = document.paths[path]![method.toLowerCase()]!
  const status = responses[answer.status] ? String(answer.status) : 'default'
  const { content } = responses[status]!
  if (status === 'default' && answer.status < 400) return [`status ${answer.status} is not declared`]
  if (answer.body === '') return content ? [`${status} has no content, and declares ${Object.keys(content)}`] : []
  const type = answer.type.split(';')[0]!.trim()
  if (!content?.[type]) return [`${type} is not declared for ${status}`]
  if (type === 'text/event-stream') return answer.body.split('\n\n').flatMap((frame) => frameProblems(frame))
  if (!type.endsWith('json')) return []
  const pointer = ['paths', path, method.toLowerCase(), 'responses', status, 'content', type, 'schema']
  return problemsAt(pointer, JSON.parse(answer.body))
}

/** What is wrong with a value, by the schema at this place of the document. */
export function problemsAt(pointer: readonly string[], value: unknown): readonly string[] {
  const place = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')
  const validate = ajv.compile({ $ref: `document#/${place}` })
  return validate(value) ? [] : errorsOf(validate)
}

function frameProblems(frame: string): readonly string[] {
  const data = frame.split('\n').find((line) => line.startsWith('data: '))
  return data === undefined || typeof JSON.parse(data.slice(6)) === 'object' ? [] : [`no object: ${data}`]
}

const errorsOf = ({ errors }: ValidateFunction): readonly string[] =>
  (errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)

/** The route of a request; undefined if there is none. */
export function routeOf(method: string, pathname: string): Route | undefined {
  const fits = (path: string): boolean =>
    new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname)
  const routes = allRoutes.filter((route) => route.method === method && fits(route.path))
  return routes.find(({ path }) => !path.includes('{')) ?? routes[0]
}
