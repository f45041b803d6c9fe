import { expect, test } from 'vitest'
import { createWebFetchTool } from '../../tools/web-fetch.ts'
import { createWebFetchPlugin } from './web-fetch.ts'

test.each([
  [{ allowPrivate: true }, 'web fetch option "allowPrivate" must be a list of hosts such as ["docs.example.com", '],
  [{ allow: [7] }, 'web fetch option "allow" must be a list of hosts'],
  [{ allowHosts: [] }, 'web fetch has no option "allowHosts"'],
  [{ maxByte: 1 }, 'web fetch has no option "maxByte", did you mean "maxBytes"?'],
  [{ timeoutMs: '5s' }, 'web fetch option "timeoutMs" must be a number of at least 0, got "5s"'],
  [{ resolve: 'dns' }, 'web fetch option "resolve" must be a function, got "dns"'],
])('%j is refused where it is written, and not told to a model', (options, words) => {
  expect(() => createWebFetchPlugin(options as never)).toThrow(words)
  expect(() => createWebFetchTool(options as never)).toThrow(words)
})

test('options that are undefined count as absent', () => {
  expect(createWebFetchPlugin({ allow: undefined, timeoutMs: undefined } as object).toolId).toBe('web-fetch')
})
