// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what this is about
import { describe, expect, test } from 'vitest'
import { isDisabled, MissingVariableError, readMcpEntry } from './config.ts'

const read = (entry: unknown, variables = {}) => readMcpEntry('fs', entry, variables)

test('commands, addresses, and the formats of other programs are read', () => {
  expect(read({ command: 'x', args: ['a'] })).toEqual({ name: 'fs', transport: 'stdio', command: 'x', args: ['a'] })
  expect(read({ url: 'https://a.example' }).transport).toBe('streamable-http')
  for (const type of ['http', 'streamableHttp', 'streamable_http', 'streamable-http'])
    expect(read({ type, url: 'https://a.example' }).transport).toBe('streamable-http')
  expect(read({ type: 'sse', url: 'https://a.example' }).transport).toBe('sse')
  expect(read({ httpUrl: 'https://a.example' }).url).toBe('https://a.example')
  expect(read({ command: 'x', timeout: 5000, alwaysAllow: ['a'], description: 'mine' })).toEqual({
    name: 'fs',
    transport: 'stdio',
    command: 'x',
    callTimeout: 5000,
  })
})

test('a time limit of other programs may be in seconds', () => {
  expect(read({ command: 'x', timeout: 60, autoApprove: [] }).callTimeout).toBe(60_000)
  expect(read({ command: 'x', timeout: 60, callTimeout: 60 }).callTimeout).toBe(60)
  expect(() => read({ command: 'x', timeout: 0 })).toThrow('callTimeout must be')
})

test('an invalid header causes an error with its place, without its value', () => {
  for (const headers of [{ 'Bad Name': 'secret-1' }, { 'x-key': 'secret-1\nx: y' }, { 'x-key': 'secret-1 €' }])
    expect(() => read({ url: 'https://a.example', headers })).toThrow(
      /^(?!.*secret-1).*fs\.headers must be .* one line$/s,
    )
  expect(read({ url: 'https://a.example', headers: { 'x-key': 'fine\n' } }).headers).toEqual({ 'x-key': 'fine\n' })
})

test('an invalid variable name is refused before a program is started with it', () => {
  for (const name of ['', 'A=B', 'A\0'])
    expect(() => read({ command: 'x', env: { [name]: 'secret-1' } })).toThrow(/fs\.env must be a record of texts$/)
})

test('variables are replaced in every text', () => {
  const entry = { command: '${A}', args: ['--x=${B:-two}', '${C}'], env: { K: 'Bearer ${A}' } }
  expect(read(entry, { A: 'one', C: '${A}' })).toMatchObject({
    command: 'one',
    args: ['--x=two', '${A}'],
    env: { K: 'Bearer one' },
  })
})

test('an unset variable is named, with the place that needs it', () => {
  expect(() => read({ command: 'x', env: { K: '${TOKEN}' } })).toThrow(MissingVariableError)
  expect(() => read({ command: 'x', env: { K: '${TOKEN}' } })).toThrow(
    'mcpServers.fs.env.K needs the environment variable TOKEN, which is not set',
  )
  expect(() => read({ command: '${toString}' })).toThrow(MissingVariableError)
})

test('TR-20 only references that the trust check recognizes are expanded', () => {
  const secret = { SECRET: 'sk-4711' }
  expect(read({ command: '${SECRET:-$}' }, secret).command).toBe('${SECRET:-$}')
  expect(read({ command: '${HOME:-${SECRET}}' }, { ...secret, HOME: '/h' }).command).toBe('${HOME:-sk-4711}')
})

describe('a wrong entry is refused:', () => {
  test.each([
    [undefined, 'mcpServers.fs must be an object'],
    [{ comand: 'x' }, 'mcpServers.fs.comand does not exist, did you mean "command"?'],
    [{ command: 5 }, 'mcpServers.fs.command must be the name or path of a program, got 5'],
    [{}, 'mcpServers.fs has no command'],
    [{ url: 'ftp://x' }, 'mcpServers.fs.url must be an address'],
    [{ command: 'x', headers: { A: 'b' } }, 'mcpServers.fs.headers means nothing with the transport "stdio"'],
    [{ type: 'pipe', command: 'x' }, 'mcpServers.fs.transport must be'],
  ])('%j', (entry, message) => {
    expect(() => read(entry)).toThrow(message)
  })
})

test('an error does not repeat a secret', () => {
  const wrong = () => read({ command: 'x', env: { KEY: ['sk-4711'] } })
  expect(wrong).toThrow(/env must be a record of texts$/)
})

test('an entry can be disabled', () => {
  expect([{ disabled: true }, { enabled: false }, { disabled: false }, {}, 5].map(isDisabled)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
})
