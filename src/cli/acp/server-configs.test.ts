import { expect, test } from 'vitest'
import { serverConfigs } from './acp.ts'

const stdio = (name: string) => ({ name, command: 'serve', args: [], env: [] })

test('AC18 servers of an editor get names that tools can have, and values as they are given', () => {
  const variable = ['$', '{HOME}'].join('')
  const http = {
    type: 'http' as const,
    name: 'web',
    url: 'https://a.test/mcp',
    headers: [{ name: 'x-key', value: variable }],
  }
  const long = 'x'.repeat(40)
  const configs = serverConfigs([stdio('my server'), stdio('my/server'), stdio(''), stdio(long), stdio(long), http])
  expect(configs.map(({ name }) => name)).toEqual([
    'my_server',
    'my_server_2',
    'server',
    long.slice(0, 32),
    `${long.slice(0, 28)}_2`,
    'web',
  ])
  expect(configs.at(-1)).toEqual({
    name: 'web',
    transport: 'streamable-http',
    url: 'https://a.test/mcp',
    headers: { 'x-key': variable },
  })
  expect(() => serverConfigs([{ ...http, url: 'ftp://a.test' }])).toThrow(/http:\/\//)
})
