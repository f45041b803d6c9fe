// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what this is about
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type FakeIo, fakeIo, runLibero } from '../../../test/cli/fake-io.ts'

let io: FakeIo
beforeEach(() => {
  io = fakeIo()
})

async function libero(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  io.clear()
  return runLibero(args, io)
}

const mcp = (...args: string[]) => libero('mcp', ...args)
const settings = () => JSON.parse(readFileSync(join(io.home, 'config.json'), 'utf8'))

function configure(config: object): void {
  mkdirSync(io.home, { recursive: true })
  writeFileSync(join(io.home, 'config.json'), JSON.stringify(config))
}

describe('mcp add', () => {
  test('MC-16 TR-16 words after -- are the whole command, shown in quotes, and none of them is read as a flag', async () => {
    const args = [
      '-y',
      '--force',
      '--env',
      'A=b',
      '--',
      'two words',
      'line\nbreak',
      '"quote"',
      '\u202ehidden',
      'x'.repeat(10_000),
    ]
    const { code, out } = await mcp('add', 'fs', '--', '/opt/my server', ...args)
    expect(code).toBe(0)
    expect(settings().mcpServers.fs).toEqual({ command: '/opt/my server', args })
    expect(out).toContain(`"/opt/my server" "-y" "--force" "--env" "A=b" "--" "two words" "line\\nbreak" "\\"quote\\""`)
    expect(out).toContain(`"${'x'.repeat(10_000)}"`)
    expect(out).not.toContain('\u202e')
  })

  test('an address, headers, a login, a time limit', async () => {
    const flags = [
      '--transport',
      'sse',
      '--header',
      'X-Key: v: w',
      '--auth',
      'oauth',
      '--lazy',
      '--bootstrap-timeout',
      '500',
    ]
    const { code, out } = await mcp('add', ...flags, 'web', 'https://a.example/sse')
    expect(code).toBe(0)
    expect(settings().mcpServers.web).toEqual({
      type: 'sse',
      url: 'https://a.example/sse',
      headers: { 'X-Key': 'v: w' },
      auth: 'oauth',
      disclosure: 'lazy',
      bootstrapTimeout: 500,
    })
    expect(out).toMatch(/https:\/\/a\.example\/sse\n +headers: X-Key\n/)
    expect(out).not.toContain('v: w')
  })

  test('accepts JSON, and keeps the other settings', async () => {
    configure({ model: 'mine', mcpServers: { a: { command: 'x' } } })
    expect((await mcp('add', 'b', '--json', '{"name": "z", "command": "y"}')).code).toBe(0)
    expect(settings()).toEqual({ model: 'mine', mcpServers: { a: { command: 'x' }, b: { command: 'y' } } })
  })

  test('an existing server is replaced only with --force', async () => {
    await mcp('add', 'a', '--', 'one')
    expect(await mcp('add', 'a', '--', 'two')).toMatchObject({ code: 2, err: expect.stringContaining('add --force') })
    expect(settings().mcpServers.a).toEqual({ command: 'one' })
    expect((await mcp('add', 'a', '--force', '--', 'two')).code).toBe(0)
    expect(settings().mcpServers.a).toEqual({ command: 'two' })
  })

  test('MC-17 adding a server that is downloaded at each start prints a warning', async () => {
    expect((await mcp('add', 'fs', '--', 'npx', '-y', 'some-server')).err).toContain('name one version')
    expect((await mcp('add', 'fs2', '--', 'npx', '-y', 'some-server@1.2.3')).err).not.toContain('version')
  })

  test('a variable that is not set is reported, and the server is added', async () => {
    const { code, err } = await mcp('add', 'a', '--env', 'K=${MY_TOKEN}', 'https://${HOST}/mcp', '--transport', 'http')
    expect(code).toBe(2) // an address has no environment
    expect(err).toContain('a.env means nothing')
    const fine = await mcp('add', 'a', '--header', 'Authorization: Bearer ${MY_TOKEN}', 'https://${HOST}/mcp')
    expect(fine.code, fine.err).toBe(0)
    expect(fine.err).toContain('MY_TOKEN is not set')
    expect(fine.err).toContain('HOST is not set')
  })

  test.each([
    [[], 'the server needs a name'],
    [['a'], 'give the address of the server'],
    [['a b', '--', 'x'], 'must be a name of letters'],
    [['a', 'https://a.example', 'more'], 'nothing may follow the address of a server, got "more"'],
    [['a', '--env', 'sk-4711', '--', 'x'], '--env must be of the form K=V'],
    [['a', '--header', 'sk-4711', 'https://a.example'], "--header must be of the form 'K: V'"],
    [['a', '--json', '{"command": 5}'], 'a.command must be the name or path of a program, got 5'],
    [['a', '--json', '{"command"'], '--json is not JSON, line 1, column 11'],
    [['a', '--json', '{}', '--lazy'], '--json is the whole entry'],
  ])('%j is refused, and nothing is written', async (args, message) => {
    const { code, err } = await mcp('add', ...args)
    expect(code).toBe(2)
    expect(err).toContain(message)
    expect(err).not.toContain('4711')
    expect(() => settings()).toThrow('ENOENT')
  })
})

describe('mcp list', () => {
  test('without servers it says how to add one', async () => {
    expect(await mcp()).toMatchObject({ code: 0, out: '', err: expect.stringContaining('libero mcp add') })
  })

  test('shows each server with its state, and only the names of environment variables and headers', async () => {
    configure({
      mcpServers: {
        fs: { command: 'my-server', args: ['a b'], env: { TOKEN: 'sk-4711' } },
        web: { url: 'https://a.example/mcp', headers: { 'X-Key': 'sk-4711' }, auth: 'oauth' },
        off: { command: 'x', disabled: true },
        unset: { command: '${NOT_THERE}' },
      },
    })
    const { code, out } = await mcp('list', '--mcp', '{"name": "fs", "command": "other"}')
    expect(code).toBe(0)
    expect(out).toMatch(/^fs +stdio +flag +used\n +--mcp\n +"other"$/m)
    expect(out).toMatch(
      /^fs +stdio +user +shadowed\n.*\n +"my-server" "a b"\n +environment: TOKEN\n +the one in --mcp is used instead$/m,
    )
    expect(out).toMatch(
      /^web +streamable-http +user +used\n.*\n +https:\/\/a\.example\/mcp\n +headers: X-Key\n +not logged in; see: libero mcp login web$/m,
    )
    expect(out).toMatch(/^off +– +user +off$/m)
    expect(out).toContain('needs the environment variable NOT_THERE')
    expect(out + (await mcp('--json')).out).not.toContain('4711')
    const { servers } = JSON.parse((await mcp('list', '--json')).out)
    expect(servers[0]).toMatchObject({ name: 'fs', from: 'user', state: 'used', entry: { env: { TOKEN: '…' } } })
  })

  test('TR-02 of a project that is not trusted only the file is named', async () => {
    writeFileSync(join(io.cwd, '.mcp.json'), JSON.stringify({ mcpServers: { theirs: { command: 'x' } } }))
    const { out } = await mcp()
    expect(out).toMatch(/^\? +– +project +pending$/m)
    expect(out).toContain('.mcp.json')
    expect(out).not.toContain('theirs')
    for (const args of [
      ['test', 'theirs'],
      ['test', 'all'],
      ['login', 'theirs'],
    ])
      expect((await mcp(...args)).err, args.join(' ')).toMatch(/\.mcp\.json was not read: .*libero trust/)
  })
})

describe('mcp remove', () => {
  test('removes a server, and with the last one the setting itself', async () => {
    configure({ model: 'm', mcpServers: { a: { command: 'x' }, b: { command: 'y' } } })
    expect((await mcp('remove', 'a')).code).toBe(0)
    expect(settings().mcpServers).toEqual({ b: { command: 'y' } })
    expect((await mcp('remove', 'b', '--forget')).err).toContain('There was no login to "b"')
    expect(settings()).toEqual({ model: 'm' })
  })

  test('for an unknown server it suggests which one was meant', async () => {
    configure({ mcpServers: { tracker: { command: 'x' } } })
    expect(await mcp('remove', 'traker')).toMatchObject({
      code: 2,
      err: expect.stringContaining('did you mean "tracker"'),
    })
    expect(await mcp('remove')).toMatchObject({ code: 2, err: expect.stringContaining('there are tracker') })
    for (const name of ['login', 'logout', 'test'])
      expect(await mcp(name, 'traker')).toMatchObject({
        code: 2,
        err: expect.stringContaining('did you mean "tracker"'),
      })
  })
})

describe('settings', () => {
  test('a server can be set like any other setting, is checked, and its secrets are not shown', async () => {
    const entry = '{"command": "x", "env": {"K": "sk-4711"}}'
    const set = await libero('config', 'set', 'mcpServers.fs', entry)
    expect(set).toMatchObject({ code: 0, err: expect.stringContaining('"K":"…"') })
    expect(settings().mcpServers.fs.env.K).toBe('sk-4711')
    const shown = await libero('config', 'get', 'mcpServers.fs')
    expect(JSON.parse(shown.out)).toEqual({ command: 'x', env: { K: '…' } })
    expect((await libero('config', 'show')).out).not.toContain('4711')
    const wrong = await libero('config', 'set', 'mcpServers.web', '{"url": 5}')
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('config.json: mcpServers.web.url must be') })
    expect((await libero('config', 'unset', 'mcpServers.fs')).code).toBe(0)
    expect(settings().mcpServers).toEqual({})
    expect((await libero('config', 'set', 'toolDisclosure', 'lazi')).err).toContain('did you mean "lazy"')
  })

  test('no command shows a key in an address', async () => {
    await mcp('add', 'web', 'https://me:pass-4711@a.example/mcp?api_key=abcdef4711&page=2')
    expect(settings().mcpServers.web.url).toContain('pass-4711')
    for (const line of ['mcp list', 'mcp list --json', 'config get mcpServers', 'config show', 'config show --json']) {
      const { out, err } = await libero(...line.split(' '))
      expect(out, line).toContain('page=2')
      expect(out + err, line).not.toContain('4711')
    }
  })

  test('no command shows a key in an invalid address', async () => {
    const entry = { url: 'htp://me:pass-4711@a.example/?api_key=abcdef4711' }
    configure({ mcpServers: { wrong: entry } })
    for (const args of [
      ['mcp'],
      ['mcp', '--json'],
      ['mcp', 'test', 'wrong'],
      ['mcp', 'add', 'web', '--json', JSON.stringify(entry)],
      ['mcp', 'test', 'all', '--mcp', JSON.stringify({ name: 'web', ...entry })],
      ['config', 'set', 'mcpServers.web', JSON.stringify(entry)],
      ['run', 'Go.'],
      ['doctor'],
    ]) {
      const { out, err } = await libero(...args)
      expect(out + err, args.join(' ')).toContain('must be an address')
      expect(out + err, args.join(' ')).not.toContain('4711')
    }
  })

  test('an invalid server in the user’s config prevents a run; the error names the file and the key', async () => {
    configure({ mcpServers: { fs: { command: 'x', arg: [] } } })
    const { code, err } = await libero('--provider', 'offline', '--no-session', 'list the files')
    expect(code).toBe(2)
    expect(err).toContain('config.json: mcpServers.fs.arg does not exist, did you mean "args"')
  })
})
