import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createSession } from '../../src/sessions/session.ts'
import { createSqliteStore } from '../../src/sessions/sqlite-store.ts'
import { nobodyCanRunNode } from '../as-nobody.ts'
import { builtCli } from '../built-cli.ts'
import { mayChangeMachine } from '../processes.ts'
import { gate, type MockService, startMockService } from '../rpc/mock-service.ts'
import { testInTurns } from '../soak.ts'
import { type Desk, type Ended, openDesk } from './cli-kit.ts'

// Many of them start processes.
const test = testInTurns(3)

/** One mount then hides both. */
const hasBinInUsr = mayChangeMachine && realpathSync('/bin') === '/usr/bin'
if (!mayChangeMachine)
  console.warn('libero on a full and on a read-only disk: not tried; run as root on Linux with CI set')
if (!nobodyCanRunNode) console.warn('libero without permissions: not tried; run as root, with a Node others may run')

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())
beforeEach(() => service.play())

const open = (): Desk => openDesk(service.url)
const configure = ({ home }: Desk, content: string): void => writeFileSync(join(home, 'config.json'), content)
const offline = ['--provider', 'offline']
const key = 'sk-abcdefgh12345678'

/** Expects nothing on stdout and one sentence on stderr without function names, stack or key. */
function complaint({ code, out, err }: Ended): readonly [exitCode: number | null, said: string] {
  expect(out).toBe('')
  expect(err).not.toMatch(/\n\s+at |\w+Error\b|\bcreate[A-Z]\w+\(|rescueSqlite/)
  expect(err).not.toContain('\u001b')
  expect(err).not.toContain('abcdefgh12345678')
  const lines = err.trimEnd().split('\n')
  if (code === 2 && lines.at(-1)?.startsWith('See: libero ')) lines.pop()
  const said = lines.at(-1) ?? ''
  expect(said).toMatch(/^libero: /)
  expect(lines.filter((line) => line.startsWith('libero: '))).toHaveLength(1)
  expect(said.length).toBeLessThan(420)
  return [code, said.slice('libero: '.length)]
}

async function complains(desk: Desk, args: readonly string[], exitCode: number, said: RegExp): Promise<void> {
  expect(complaint(await desk.libero(args)), args.join(' ')).toEqual([exitCode, expect.stringMatching(said)])
}

describe('keys, models and services', () => {
  test('for a provider without a key the error names the variable and how to log in', async () => {
    const desk = open()
    await complains(
      desk,
      ['--provider', 'anthropic', 'hi'],
      1,
      /^anthropic needs a key: set ANTHROPIC_API_KEY, or run: /,
    )
    await complains(
      desk,
      ['--provider', 'antropic', 'hi'],
      2,
      /^there is no provider "antropic", did you mean anthropic\?/,
    )
  })

  test('a refusal by the service is one sentence, and the session and its prompt are kept', async () => {
    const desk = open()
    service.play({ status: 401, message: `Incorrect API key provided: ${key}` })
    await complains(desk, ['first'], 1, /^mock did not accept the key \(HTTP 401: .*\): run: libero login mock$/)
    service.play({ status: 402, message: 'Insufficient credits' })
    await complains(
      desk,
      ['-c', 'second'],
      1,
      /^the account at mock has no credit left .*: add credit there, or choose /,
    )
    service.play({ status: 404, message: 'The model `mock-1` does not exist' })
    await complains(
      desk,
      ['-c', 'third'],
      1,
      /^mock has no model "mock-1" .*: choose one with --model \(see: libero models/,
    )
    service.play({ status: 400, message: 'no \u001b[31mred\u001b[0m here' })
    await complains(desk, ['-c', 'fourth'], 1, /^mock failed \(HTTP 400: no .*: libero --continue --model <model>$/)
    const { code } = await desk.libero(['-c', 'fifth'])
    expect(code).toBe(0)
    const asked = JSON.stringify(service.requests.at(-1).messages)
    for (const word of ['first', 'second', 'third', 'fourth', 'fifth']) expect(asked).toContain(word)
  })

  test('a service that does not answer is named during retries and at the end', async () => {
    const desk = openDesk('http://127.0.0.1:9/v1')
    const running = desk.start(['hello'])
    running.child.stdin.end()
    await running.until(/does not answer \(.*ECONNREFUSED.*\); trying again/)
    const ended = await running.ended
    expect(complaint(ended)).toEqual([
      1,
      expect.stringMatching(/^mock does not accept connections at 127\.0\.0\.1:9 .*: start it, or /),
    ])
    expect(ended.err).toMatch(/session \w+-\w+; continue with: libero --continue/)
  })

  test('an address without TLS is explained in plain words, not in those of OpenSSL', async () => {
    const desk = openDesk(service.url.replace('http:', 'https:'))
    await complains(
      desk,
      ['-q', 'hi'],
      1,
      /^mock does not speak TLS at 127\.0\.0\.1:\d+ \(EPROTO\): .*http:\/\/ instead of https/,
    )
  })
})

describe('words and flags', () => {
  test.each([
    [['--modle', 'x', 'hi'], /^run has no flag "--modle"; did you mean .*--model\?$/],
    [['modles'], /^there is no command "modles"; did you mean: libero models\?/],
    [
      ['sesions', 'list'],
      /^there is no command "sesions"; did you mean: libero sessions list\? \(for a task: libero run sesions list\)$/,
    ],
    [['sessions', 'lst'], /^sessions has no "lst", did you mean "list"\?$/],
    [['--mode', 'aks', 'hi'], /^--mode cannot be "aks"; .*did you mean ask\?/],
    [['--max-turns', 'abc', 'hi'], /^--max-turns must be a whole number of at least 1, got "abc"$/],
    [['--json', '--quiet', 'hi'], /^--json and --quiet do not go together; choose one/],
    [['   '], /^there is no task; write it as in: libero "/],
    [['--schema', 'nope.json', 'hi'], /^--schema nope\.json: there is no such file; name a file/],
    [['--schema', 'bad.json', 'hi'], /^--schema bad\.json is not JSON, line 2, column 1: comments are not JSON$/],
    [['--image', 'nope.png', 'hi'], /^--image nope\.png: there is no such file; name a picture/],
    [['--image', 'bad.json', 'hi'], /^--image bad\.json is not a PNG, JPEG, GIF or WebP; convert it/],
    [['--cwd', 'nope', 'hi'], /^--cwd nope: there is no such folder, or you may not enter it; check the path$/],
    [['--cwd', 'bad.json', 'hi'], /^--cwd bad\.json is a file; name a folder$/],
    [['--allow', '', 'hi'], /^--allow "" is empty; write a tool, "tool:pattern" or an effect$/],
    [
      ['--allow', 'nonsense', 'hi'],
      /^the rule "nonsense" matches nothing: .*; a rule names a tool \(write_file\), a comm/,
    ],
    [['--deny', 'shel:rm *', 'hi'], /^the rule "shel:rm \*" matches nothing: .* did you mean "shell"\?$/],
    [['--allow', 'Bash(ls:*)', 'hi'], /^--allow "Bash\(ls:\*\)" has the form of another program; write "shell:ls"$/],
    [['--context', 'docker', 'hi'], /^the context "docker" needs an image: add --image/],
  ])('libero %j', async (args, said) => {
    const desk = open()
    desk.write('bad.json', '\n// a remark')
    await complains(desk, args, 2, said)
    expect(existsSync(join(desk.home, 'sessions.db'))).toBe(false)
  })

  test('T04 a typo in a rule of the settings is reported, since a rule that matches nothing does not protect', async () => {
    const desk = open()
    configure(desk, '{ "provider": "offline", "deny": ["shel:rm *"] }')
    const { code, err } = await desk.libero(['hi'])
    expect(code).toBe(0)
    expect(err).toContain(
      '! The rule "shel:rm *" matches nothing: there is no tool and no effect "shel", did you mean "shell"?',
    )
  })

  test('a container without an engine', async () => {
    const desk = open()
    const args = [...offline, '--context', 'docker', '--image', 'node:24', 'hi']
    const ended = await desk.process(args, { env: { DOCKER_HOST: 'unix:///nowhere/docker.sock' } })
    expect(complaint(ended)).toEqual([
      1,
      expect.stringMatching(
        /^--context docker cannot be used here: Docker does not answer at \/nowhere\/docker\.sock .*Start Docker.*; or leave out --context docker$/,
      ),
    ])
  })
})

describe('files of the user', () => {
  test.each([
    [
      'has a comma too many',
      '{"provider": "offline",}',
      /config\.json is not JSON, line 1, column 24: there is an extra comma/,
    ],
    [
      'has a misspelled key',
      '{"provder": "offline"}',
      /config\.json has an unknown key "provder", did you mean "provider"/,
    ],
    [
      'has a value of the wrong type',
      '{"maxTurns": "five"}',
      /config\.json: maxTurns cannot be "five"; write a whole number/,
    ],
    [
      'names an unknown provider',
      '{"provider": "nope"}',
      /^there is no provider "nope", which the config names \(there are anthropic, /,
    ],
    ['is huge', ' '.repeat(1024 * 1024 + 1), /^Cannot read \S+config\.json: it is larger than 1 MiB; shorten it$/],
  ])('a config that %s', async (_, content, said) => {
    const desk = open()
    configure(desk, content)
    await complains(desk, ['hi'], 2, said)
  })

  test('a config that is a folder, credentials that are not JSON, a home that is a file', async () => {
    const desk = openDesk()
    mkdirSync(join(desk.home, 'config.json'))
    await complains(desk, ['hi'], 2, /^Cannot read \S+config\.json: it is a folder; replace it by a file, or /)
    const other = open()
    writeFileSync(join(other.home, 'credentials.json'), `{ "openai": "${key}`)
    await complains(other, ['--provider', 'openai', 'hi'], 1, /credentials\.json is not a JSON object.* log in again$/)
    const ended = await other.process([...offline, 'hi'], {
      env: { LIBERO_HOME: join(other.home, 'credentials.json') },
    })
    expect(complaint(ended)).toEqual([1, expect.stringMatching(/there is a file in place of its folder; /)])
  })

  test('damaged sessions are left unchanged, and every command that needs them reports it', async () => {
    const desk = open()
    const path = join(desk.home, 'sessions.db')
    const content = 'no database at all, '.repeat(300)
    writeFileSync(path, content, { mode: 0o600 })
    const said =
      /^the sessions cannot be read: move the file elsewhere .* \(\S+sessions\.db is damaged, or is not a session store/
    await complains(desk, ['hi'], 1, said)
    await complains(desk, ['sessions'], 1, said)
    expect(readFileSync(path, 'utf8')).toBe(content)
    expect((await desk.libero(['--no-session', 'hi'])).code).toBe(0)
  })

  test('the settings of an untrusted project are ignored, with a hint how to trust it; the run continues', async () => {
    const desk = open()
    desk.write('.libero/config.json', ' '.repeat(3_000_000))
    const { code, err } = await desk.libero(['hi'])
    expect(code).toBe(0)
    expect(err).toMatch(/is not trusted: .*To see what it brings, and to trust it: libero trust/)
  })
})

test('a session that is unknown, ambiguous, or written by another process', async () => {
  const desk = open()
  const store = createSqliteStore({ path: join(desk.home, 'sessions.db') })
  for (const id of ['bafitu-one', 'bafitu-two']) {
    const session = await createSession({ store, id })
    await session.open()
    await session.log.append({ type: 'state', owner: 'test', value: 1 })
    await session.release()
  }
  await store.close()
  await complains(desk, ['--resume', 'nope', 'hi'], 1, /^There is no session "nope"; libero sessions list --all /)
  await complains(
    desk,
    ['--resume', 'bafitu', 'hi'],
    1,
    /^"bafitu" may be bafitu-\w+, bafitu-\w+; type more of the id$/,
  )
  await complains(desk, ['-c', 'hi'], 1, /^No session was begun in \S+; libero sessions list --all /)
  const hanging = gate()
  service.play([{ hang: hanging }, { say: 'done' }])
  const first = desk.start(['--resume', 'bafitu-one', 'slowly'])
  first.child.stdin.end()
  await hanging.reached
  await complains(
    desk,
    ['--resume', 'bafitu-one', 'hi'],
    1,
    /^Session bafitu-one is being written by .*--resume bafitu-one --fork$/,
  )
  hanging.open()
  expect((await first.ended).code).toBe(0)
})

describe('unusual environments', () => {
  test('in a deleted folder the help works, and a run says what to do', async () => {
    const desk = open()
    const inGone = 'mkdir gone && cd gone && rmdir ../gone && libero'
    expect(complaint(await inShell(desk, `${inGone} hi`))).toEqual([
      1,
      expect.stringMatching(/^this folder was deleted.*with cd$/),
    ])
    expect(await inShell(desk, `${inGone} --version`)).toMatchObject({ code: 0, err: '' })
    expect(await inShell(desk, `${inGone} --cwd ${desk.cwd} hi`)).toMatchObject({ code: 0 })
  })

  test('an answer that cannot be written is an error, and the session is kept', async () => {
    const desk = open()
    if (!existsSync('/dev/full')) return
    for (const line of ['libero hi >/dev/full', 'libero -q hi >/dev/full', 'libero sessions >/dev/full']) {
      const ended = complaint(await inShell(desk, line))
      expect(ended, line).toEqual([
        1,
        expect.stringMatching(/^the output could not be written \(ENOSPC\): free some space/),
      ])
    }
    const { out } = await desk.libero(['sessions', 'list', '--json'])
    expect(JSON.parse(out).sessions).toHaveLength(2)
  })

  test('works without HOME, with stdin closed or a folder, with a relative LIBERO_HOME', async () => {
    const desk = open()
    for (const line of ['unset HOME; libero hi', 'libero hi <&-', 'libero hi <.', 'libero hi >&-', 'libero hi 2>&-'])
      expect(await inShell(desk, line), line).toMatchObject({ code: 0 })
    const { out } = await inShell(desk, 'unset LIBERO_HOME; HOME= libero config path')
    expect(out).toMatch(/^\/.*config\.json\n$/)
    expect(out).not.toContain(desk.cwd)
    await inShell(desk, `mkdir sub; cp -r "$LIBERO_HOME" rel; LIBERO_HOME=rel libero --cwd sub hi`)
    expect(existsSync(join(desk.cwd, 'rel/sessions.db'))).toBe(true)
    expect(existsSync(join(desk.cwd, 'sub/rel'))).toBe(false)
  })

  test('ten megabytes, and bytes that are not text, arrive as a prompt', async () => {
    const desk = open()
    expect(await inShell(desk, `head -c 10000000 /dev/zero | tr '\\0' a | libero -q`)).toMatchObject({ code: 0 })
    expect(service.requests.at(-1).messages.at(-1).content).toHaveLength(10_000_000)
    expect(await inShell(desk, `printf 'say \\377\\376 this' | libero -q`)).toMatchObject({ code: 0 })
    expect(service.requests.at(-1).messages.at(-1).content).toBe('say \ufffd\ufffd this')
  })
})

describe.runIf(mayChangeMachine)('disks', () => {
  test('FD-08 a full disk is reported before a model is asked; FD-09 a read-only one too', async () => {
    const desk = open()
    const before = service.requests.length
    const mounted = join(desk.cwd, 'mounted')
    mkdirSync(mounted)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k,mode=700', 'tmpfs', mounted])
    onTestFinished(() => void execFileSync('umount', ['--lazy', mounted]))
    writeFileSync(join(mounted, 'config.json'), readFileSync(join(desk.home, 'config.json')))
    writeFileSync(join(mounted, 'fill'), Buffer.alloc(8 * 1024))
    const ask = async () => complaint(await desk.process(['hi'], { env: { LIBERO_HOME: mounted } }))
    expect(await ask()).toEqual([
      1,
      expect.stringMatching(/^there is no space for the session: free some space .*--no-session \(.*sessions\.db/),
    ])
    execFileSync('mount', ['-o', 'remount,ro', mounted])
    expect(await ask()).toEqual([
      1,
      expect.stringMatching(/^the sessions cannot be written: .*--no-session \(.*sessions\.db/),
    ])
    expect(service.requests).toHaveLength(before)
  })
})

test.runIf(mayChangeMachine && hasBinInUsr && !process.execPath.startsWith('/usr/bin/'))(
  '--sandbox required without bubblewrap fails before a model is asked and says how to install it',
  async () => {
    const before = service.requests.length
    const run = 'exec "$NODE" "$MAIN" --sandbox required hi'
    const ended = await inShell(open(), `unshare -m sh -c 'mount -t tmpfs tmpfs /usr/bin && ${run}'`)
    expect(complaint(ended)).toEqual([
      1,
      expect.stringMatching(
        /^there is no sandbox, and the settings or --sandbox require one: There is no bwrap in .*Install it with .*; or choose --sandbox auto/,
      ),
    ])
    expect(service.requests).toHaveLength(before)
  },
)

describe.runIf(nobodyCanRunNode)('permissions', () => {
  it('a home, a config and sessions without permission to read or write', async () => {
    const desk = open()
    const asNobody = async (prepare: string, ...args: string[]) => {
      const line = `chown -R 65534:65534 "$HOME" && ${prepare} && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$NODE" "$MAIN" ${args.join(' ')}`
      return complaint(await inShell(desk, line))
    }
    expect(await asNobody('chmod 0 "$LIBERO_HOME/config.json"', 'hi')).toEqual([
      2,
      expect.stringMatching(/^Cannot read \S+config\.json: you have no permission; /),
    ])
    expect(await asNobody('chmod 600 "$LIBERO_HOME/config.json" && chmod 500 "$LIBERO_HOME"', 'hi')).toEqual([
      1,
      expect.stringMatching(/^the sessions cannot be written: check the owner and the permissions .*--no-session \(/),
    ])
    expect(
      await asNobody(
        'chmod 700 "$LIBERO_HOME" && touch "$LIBERO_HOME/sessions.db" && chmod 0 "$LIBERO_HOME/sessions.db"',
        'hi',
      ),
    ).toEqual([1, expect.stringMatching(/^the sessions cannot be written: /)])
  })
})

const main = await builtCli()

/** A command line with `libero` in it. */
function inShell({ cwd, env }: Desk, line: string): Promise<Ended> {
  const script = `libero() { "$NODE" "$MAIN" "$@"; }\n${line}`
  const child = spawn('/bin/sh', ['-c', script], {
    cwd,
    env: { ...env, NODE: process.execPath, MAIN: main },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const said = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (said.out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (said.err += text))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...said })))
}
