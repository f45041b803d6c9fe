import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { type FakeIo, fakeIo } from '../../../test/cli/fake-io.ts'
import { createCredentialStore } from '../../auth/credentials.ts'
import type { Io } from '../io.ts'
import { type Check, diagnose, ok } from './diagnose.ts'
import { checkNode, docker, git, oldestNode, ripgrep, sandbox, sandboxFinding, terminal } from './machine-checks.ts'
import { agentPackage, croner, tiddlywiki, zx } from './package-checks.ts'
import {
  chosenModel,
  configFiles,
  credentials,
  homeFolder,
  localServers,
  sessionStore,
  wikis,
} from './settings-checks.ts'

describe('all checks', () => {
  test('run in parallel, and are reported in their order', async () => {
    const both = Promise.withResolvers<void>()
    let begun = 0
    const meets = (name: string): Check => ({
      name,
      async run() {
        if (++begun === 2) both.resolve()
        await both.promise
        return ok('met')
      },
    })
    const found = await diagnose([meets('a'), meets('b')], fakeIo())
    expect(found.map(({ name, state }) => [name, state])).toEqual([
      ['a', 'ok'],
      ['b', 'ok'],
    ])
  })

  test('a check that hangs becomes a finding, and its signal is aborted', async () => {
    let isTold = false
    const hangs: Check = {
      name: 'hangs',
      isEssential: true,
      run: ({ signal }) =>
        new Promise(() =>
          signal.addEventListener('abort', () => {
            isTold = true
          }),
        ),
    }
    const [found] = await diagnose([hangs], fakeIo(), { timeoutMs: 20 })
    expect(found).toMatchObject({ name: 'hangs', isEssential: true, state: 'broken' })
    expect(found?.says).toContain('no answer within 0.02 seconds')
    expect(isTold).toBe(true)
  })

  test('a check that throws becomes a finding, whether it throws synchronously or later', async () => {
    const throws: Check = {
      name: 'throws',
      run: () => {
        throw new Error('at once')
      },
    }
    const rejects: Check = { name: 'rejects', run: () => Promise.reject(new Error('later')) }
    const found = await diagnose([throws, rejects], fakeIo())
    expect(found.map(({ state, says }) => [state, says])).toEqual([
      ['broken', 'at once'],
      ['broken', 'later'],
    ])
  })

  test('send requests to this machine only', async () => {
    const asked: string[] = []
    const fetch = (async (url: string) => void asked.push(url)) as unknown as Io['fetch']
    const asks = (url: string): Check => ({ name: url, run: async ({ io }) => ok(String(await io.fetch(url))) })
    const here = ['http://127.0.0.1:1/', 'http://localhost:1/', 'http://[::1]:1/']
    const there = [
      'http://10.0.0.1/',
      'https://example.org/',
      'http://127.0.0.1.evil.test/',
      'http://localhost.evil.test/',
    ]
    const found = await diagnose([...here, ...there].map(asks), fakeIo({ fetch }))
    expect(asked).toEqual(here)
    expect(found.filter(({ state }) => state === 'broken').map(({ name }) => name)).toEqual(there)
  })
})

describe('node', () => {
  test('the oldest supported version is the one in package.json', () => {
    const { engines } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
    expect(engines.node).toBe(`>=${oldestNode}`)
  })

  test.each([
    ['22.17.9', 'broken'],
    ['20.19.0', 'broken'],
    ['22.18.0', 'ok'],
    ['24.0.0', 'ok'],
  ])('%s is %s', (version, state) => {
    expect(checkNode(version).state).toBe(state)
  })
})

describe('home', () => {
  test('one that does not exist can be created', async () => {
    expect(await look(homeFolder, fakeIo())).toMatchObject({
      state: 'ok',
      says: expect.stringContaining('is created when'),
    })
  })

  test('T10 one that others can list is ok; one that others can write is broken', async () => {
    const io = fakeIo()
    mkdirSync(io.home)
    chmodSync(io.home, 0o755)
    expect(await look(homeFolder, io)).toMatchObject({
      state: 'ok',
      says: expect.stringContaining('others may list it'),
    })
    chmodSync(io.home, 0o1777)
    expect(await look(homeFolder, io)).toMatchObject({
      state: 'broken',
      fix: expect.stringContaining(`chmod 700 ${io.home}`),
    })
    chmodSync(io.home, 0o700)
    expect(await look(homeFolder, io)).toMatchObject({ state: 'ok', says: `${io.home}, readable only by you` })
  })

  test('secret files that others may read are named', async () => {
    const io = fakeIo()
    mkdirSync(io.home, { mode: 0o700 })
    writeFileSync(join(io.home, 'credentials.json'), '{}', { mode: 0o644 })
    expect(await look(homeFolder, io)).toMatchObject({
      state: 'broken',
      fix: `chmod 600 ${join(io.home, 'credentials.json')}`,
    })
  })

  test('a file in its place is broken, and the fix moves it', async () => {
    const io = fakeIo()
    writeFileSync(io.home, '')
    expect(await look(homeFolder, io)).toMatchObject({ state: 'broken', fix: `mv ${io.home} ${io.home}.old` })
  })
})

describe('settings', () => {
  test('no settings are ok, usable settings are named, unusable ones are broken', async () => {
    const io = fakeIo()
    expect(await look(configFiles, io)).toMatchObject({ state: 'ok', says: 'none; the defaults apply' })
    mkdirSync(io.home)
    const file = join(io.home, 'config.json')
    writeFileSync(file, '{"maxTurns": 5}')
    expect(await look(configFiles, io)).toMatchObject({ state: 'ok', says: `${file} can be used` })
    writeFileSync(file, '{"maxTurns": 5,}')
    expect(await look(configFiles, io)).toMatchObject({
      state: 'broken',
      says: expect.stringContaining('line 1, column 16'),
    })
  })
})

describe('sessions', () => {
  test('a trial store is written where the sessions would be, and removed again', async () => {
    const io = fakeIo()
    expect(await look(sessionStore, io)).toMatchObject({
      state: 'ok',
      says: expect.stringContaining('SQLite works there'),
    })
    expect(readdirSync(io.home)).toEqual([])
  })

  test('T10 for a folder of text files the trial store is a folder too, and is removed again', async () => {
    const io = fakeIo()
    mkdirSync(join(io.home, 'texts'), { recursive: true })
    writeFileSync(join(io.home, 'config.json'), '{"sessions": "texts"}')
    expect(await look(sessionStore, io)).toMatchObject({ state: 'ok', says: `${io.home}/texts, 0 sessions` })
    expect(readdirSync(join(io.home, 'texts'))).toEqual(['.index', 'store.json'])
    writeFileSync(join(io.home, 'config.json'), '{"sessions": "config.json/texts/"}')
    expect(await look(sessionStore, io)).toMatchObject({ state: 'broken' })
  })

  test('stored sessions are counted at the path of the settings', async () => {
    const io = fakeIo()
    mkdirSync(io.home)
    writeFileSync(join(io.home, 'config.json'), '{"sessions": "~/elsewhere.db"}')
    const { openStore } = await import('../sessions/open-store.ts')
    const store = await openStore(join(io.userHome, 'elsewhere.db'))
    const { epoch } = await store.lease('s', { owner: 'o', ttlMs: 1000, create: true })
    await store.append('s', [{ type: 'label', seq: 1, id: 'e', at: 0, text: 'x' }], { epoch, head: 0 })
    await store.close?.()
    expect(await look(sessionStore, io)).toMatchObject({ state: 'ok', says: `${io.userHome}/elsewhere.db, 1 session` })
  })

  test('a file that is not a database is broken, and is left unchanged', async () => {
    const io = fakeIo()
    mkdirSync(io.home)
    writeFileSync(join(io.home, 'sessions.db'), 'x'.repeat(5000))
    expect(await look(sessionStore, io)).toMatchObject({ state: 'broken' })
    expect(readFileSync(join(io.home, 'sessions.db'), 'utf8')).toBe('x'.repeat(5000))
  })

  test('a folder that cannot be created is broken', async () => {
    const io = fakeIo()
    writeFileSync(io.home, 'a file')
    expect(await look(sessionStore, io)).toMatchObject({
      state: 'broken',
      fix: expect.stringContaining('libero config set sessions'),
    })
  })
})

describe('keys', () => {
  test('are listed with their location, never with their value', async () => {
    const io = fakeIo({ env: { OPENAI_API_KEY: 'sk-secret', GROQ_API_KEY: ' ' } })
    await createCredentialStore({ path: join(io.home, 'credentials.json') }).set('anthropic', {
      type: 'api_key',
      key: 'sk-other',
    })
    const found = await look(credentials, io)
    expect(found).toMatchObject({ state: 'ok', says: 'openai (OPENAI_API_KEY), anthropic (key in credentials.json)' })
    expect(await look(chosenModel, io)).toMatchObject({
      state: 'ok',
      says: expect.stringMatching(/^openai\/.*OPENAI_API_KEY is set/),
    })
  })

  test('without any, the fix says how to get one', async () => {
    expect(await look(credentials, fakeIo())).toMatchObject({
      state: 'missing',
      fix: expect.stringContaining('libero login'),
    })
  })

  test('a file that is not JSON is broken, and is not quoted', async () => {
    const io = fakeIo()
    mkdirSync(io.home)
    writeFileSync(join(io.home, 'credentials.json'), 'sk-secret')
    const found = await look(credentials, io)
    expect(found).toMatchObject({ state: 'broken' })
    expect(JSON.stringify(found)).not.toContain('secret')
  })
})

describe('models', () => {
  test('a server on this machine is found, with the number of its models', async () => {
    const fetch = (async (url: string) => {
      if (!url.includes('11434')) throw new TypeError('fetch failed')
      return Response.json({ data: [{ id: 'a' }, { id: 'b' }] })
    }) as unknown as Io['fetch']
    const io = fakeIo({ fetch })
    expect(await look(localServers, io)).toMatchObject({ state: 'ok', says: 'ollama with 2 models' })
    expect(await look(chosenModel, io)).toMatchObject({ state: 'ok', says: expect.stringContaining('ollama/a') })
    expect(await look(localServers, fakeIo())).toMatchObject({ state: 'missing' })
  })

  test('a provider in the settings that has no key is broken', async () => {
    const io = fakeIo()
    mkdirSync(io.home)
    writeFileSync(join(io.home, 'config.json'), '{"provider": "openai"}')
    expect(await look(chosenModel, io)).toMatchObject({
      state: 'broken',
      says: expect.stringContaining('OPENAI_API_KEY'),
    })
  })
})

describe('docker', () => {
  test('an engine that answers on its socket is found', async () => {
    const io = fakeIo()
    const socket = join(io.userHome, 'd.sock')
    const server = createServer((request, response) => response.end(request.url === '/_ping' ? 'OK' : 'no'))
    await new Promise<void>((resolve) => server.listen(socket, resolve))
    onTestFinished(() => void server.close())
    const at = { ...io, env: { DOCKER_HOST: `unix://${socket}` } }
    expect(await look(docker, at)).toMatchObject({ state: 'ok', says: `it answers at ${socket}` })
    const nowhere = { ...io, env: { DOCKER_HOST: `unix://${socket}.not` } }
    expect(await look(docker, nowhere)).toMatchObject({ state: 'missing' })
  })

  test('another machine is not contacted', async () => {
    const io = fakeIo({ env: { DOCKER_HOST: 'tcp://10.255.255.1:2375' } })
    expect(await look(docker, io)).toMatchObject({ state: 'ok', says: expect.stringContaining('was not contacted') })
  })
})

test.each([
  [
    'There is no bwrap in /usr/bin. Nothing was run. Install it with `apt-get install bubblewrap`',
    'missing',
    /^Install it with/,
  ],
  [
    'The sandbox could not be built, and nothing was run: unshare failed. If this user may not: `sysctl x=1`',
    'broken',
    /^If this user may not/,
  ],
  ['user namespaces are off: `sysctl user.max_user_namespaces=15000` permits them', 'broken', /^`sysctl/],
  ['this container may not build sandboxes (a: b); start it with `--security-opt …`', 'broken', /^start it with/],
  ['Windows has no sandbox for commands; use WSL or Docker', 'missing', /^use WSL or Docker$/],
  ['it was switched off', 'missing', /^libero config unset sandbox$/],
])('SB08 no sandbox: "%s" is %s, with what to do about it', (message, state, fix) => {
  expect(sandboxFinding(message)).toMatchObject({ state, fix: expect.stringMatching(fix) })
})

test.skipIf(unavailable)(`SB08 the sandbox is tried as a run tries it${skipped}`, async () => {
  expect(await look(sandbox, fakeIo())).toMatchObject({
    state: 'ok',
    says: expect.stringMatching(/^bubblewrap: .* was stopped$/),
  })
})

test('SB08 a sandbox that the settings switch off is not tried', async () => {
  const io = fakeIo()
  mkdirSync(io.home, { mode: 0o700 })
  writeFileSync(join(io.home, 'config.json'), '{"sandbox":"off"}', { mode: 0o600 })
  expect(await look(sandbox, io)).toMatchObject({ state: 'missing', says: 'it was switched off' })
})

describe('programs', () => {
  test('a program that is not on the PATH is missing, with the command that installs it', async () => {
    expect(await look(git, fakeIo({ env: { PATH: '/nowhere' } }))).toMatchObject({
      state: 'missing',
      fix: expect.stringContaining('install git'),
    })
  })

  test('a program in the project is not run, even if the PATH would find it', async () => {
    const io = fakeIo({ env: { PATH: '.:bin:/nowhere' } })
    mkdirSync(join(io.cwd, 'bin'))
    for (const path of ['git', 'bin/git'])
      writeFileSync(join(io.cwd, path), `#!/bin/sh\ntouch ${io.cwd}/was-run\necho git`, { mode: 0o755 })
    expect(await look(git, io)).toMatchObject({ state: 'missing' })
    expect(existsSync(join(io.cwd, 'was-run'))).toBe(false)
  })

  test('ripgrep comes with the package', async ({ skip }) => {
    const isHere = await import('@vscode/ripgrep').then(
      () => true,
      () => false,
    )
    if (!isHere) console.warn('NOT TESTED, the bundled ripgrep: npm install @vscode/ripgrep')
    skip(!isHere)
    expect(await look(ripgrep, fakeIo({ env: { PATH: '/nowhere' } }))).toMatchObject({
      state: 'ok',
      says: expect.stringMatching(/^ripgrep .*bundled$/),
    })
  })
})

describe('packages of agents', () => {
  test.each([
    ['croner', croner, '--cron'],
    ['tiddlywiki', tiddlywiki, 'wikis'],
    ['zx', zx, 'scripts'],
  ])('%s is reported with its version and its purpose', async (_, check, use) => {
    const { state, says } = await look(check, fakeIo())
    expect(state).toBe('ok')
    expect(says).toMatch(new RegExp(`^\\d+\\.\\d+.*, for .*${use}`))
  })

  test('a package that is not installed is missing, with its purpose and the command that installs it', async () => {
    const from = createRequire(join(fakeIo().cwd, 'x.js'))
    const check = agentPackage({ name: 'libero-no-such-package', for: 'stars', from })
    expect(await look(check, fakeIo())).toMatchObject({
      state: 'missing',
      says: 'not installed; needed for stars',
      fix: 'npm install libero-no-such-package',
    })
  })

  test('a package that is too old is broken, with the oldest version that works', async () => {
    const { state, says, fix } = await look(agentPackage({ name: 'croner', for: 'stars', oldest: '100.0' }), fakeIo())
    expect([state, fix]).toEqual(['broken', 'npm install croner@latest'])
    expect(says).toMatch(/^\d+\.\d+\.\d+ is too old for stars; 100\.0 or later works$/)
  })
})

test('wikis of the settings: a folder that does not exist or is not a wiki is broken, and is named', async () => {
  const io = fakeIo()
  const name = (folders: Record<string, { folder: string }>): void =>
    writeFileSync(join(io.home, 'config.json'), JSON.stringify({ wikis: folders }))
  expect(await look(wikis, io)).toMatchObject({ state: 'ok', says: 'none configured' })
  mkdirSync(join(io.home, 'notes'), { recursive: true })
  name({ notes: { folder: 'notes' }, gone: { folder: '~/gone' } })
  const [notes, gone] = [join(io.home, 'notes'), join(io.userHome, 'gone')]
  const both = await look(wikis, io)
  expect(both).toMatchObject({ state: 'broken', fix: expect.stringContaining(`npx tiddlywiki "${notes}" --init`) })
  expect(both.says).toBe(`notes: ${notes} is not a wiki: it has no tiddlywiki.info; gone: ${gone} does not exist`)
  writeFileSync(join(notes, 'tiddlywiki.info'), 'nonsense')
  name({ notes: { folder: notes } })
  expect((await look(wikis, io)).says).toContain('its tiddlywiki.info is not a JSON object')
  writeFileSync(join(notes, 'tiddlywiki.info'), '{}')
  expect(await look(wikis, io)).toMatchObject({ state: 'ok', says: `notes in ${notes}` })
})

test.each([
  [{ LANG: 'en_GB.UTF-8' }, 'ok'],
  [{ LANG: 'en_GB.UTF-8', LC_ALL: 'C' }, 'missing'],
  [{ LC_CTYPE: 'C.utf8', LANG: 'C' }, 'ok'],
])('a terminal with %j is %s', async (env, state) => {
  expect(await look(terminal, fakeIo({ env }))).toMatchObject({ state })
})

async function look(check: Check, io: FakeIo) {
  const [found] = await diagnose([check], io)
  return found!
}
