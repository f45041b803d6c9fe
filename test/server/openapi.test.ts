import { expect, test } from 'vitest'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import { document, documentProblems, type OpenApi, problemsAt } from './openapi-kit.ts'
import { startServer } from './server-kit.ts'

test('SV40 the document is valid OpenAPI 3.1, as the server sends it without a token', async () => {
  const { server } = await startServer()
  const response = await server.fetch(new Request('http://127.0.0.1/v1/openapi.json'))
  const sent = (await response.json()) as { paths: unknown }
  expect(documentProblems(sent)).toEqual([])
  expect(sent.paths).toEqual(JSON.parse(JSON.stringify(document.paths)))
})

test('SV40 a document with a planted mistake is not valid', () => {
  const broken = structuredClone(document) as { paths: Record<string, Record<string, unknown>> }
  broken.paths['/v1/usage']!.get = { responses: {} }
  expect(documentProblems(broken)).not.toEqual([])
})

test('SV40 each route of the list is in the document once, with its parameters, and nothing else is', () => {
  const inList = allRoutes.map(({ method, path }) => `${method} ${path}`)
  expect(new Set(inList).size).toBe(inList.length)
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  )
  expect(operations.map(([name]) => name).sort()).toEqual(inList.sort())
  const ids = operations.map(([, { operationId }]) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { method, path, query = {} } of allRoutes) {
    const { parameters } = document.paths[path]![method.toLowerCase()]!
    const named = (place: string): string[] => parameters.filter((one) => one.in === place).map(({ name }) => name)
    expect([path, named('path')]).toEqual([path, [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)])
    expect([path, named('query')]).toEqual([path, Object.keys(query)])
  }
})

test('SV40 every example validates against the schema beside it, and most answers of JSON have one', () => {
  const examples = examplesOf(document)
  expect(examples.length).toBeGreaterThan(12)
  for (const { pointer, example } of examples)
    expect([pointer, problemsAt([...pointer, 'schema'], example)]).toEqual([pointer, []])
  const [first] = examples
  expect(problemsAt([...first!.pointer, 'schema'], 7)).not.toEqual([])
})

function examplesOf({ paths }: OpenApi): { readonly pointer: readonly string[]; readonly example: unknown }[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      Object.entries(responses).flatMap(([status, { content = {} }]) =>
        Object.entries(content).flatMap(([type, media]) =>
          'example' in media
            ? [{ pointer: ['paths', path, method, 'responses', status, 'content', type], example: media.example }]
            : [],
        ),
      ),
    ),
  )
}
