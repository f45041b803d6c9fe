import { getEventListeners } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import type { ExecOptions, ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import { createProcessContext } from './process.ts'

const folder = mkdtempSync(join(tmpdir(), 'libero-process-'))
afterAll(() => rm(folder, { recursive: true, force: true }))
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

const onLinux = process.platform === 'linux'
if (!onLinux) console.warn('Not Linux: what has left the process group is not found, and not tested')

describe('the shell', () => {
  test('commands are for bash where there is one, and keep their line numbers', async () => {
    expect(await run('[[ a == a ]] && echo yes\necho $LINENO')).toEqual({ stdout: 'yes\n2\n', stderr: '', exitCode: 0 })
  })

  test('a command that looks like an option is a command', async () => {
    expect(await run('-c --help')).toMatchObject({
      exitCode: 127,
      stderr: expect.stringContaining('-c: command not found'),
    })
  })

  test('pwd is the folder as it was named', async () => {
    symlinkSync(folder, join(folder, 'link'))
    expect((await run('pwd', { cwd: 'link' })).stdout).toBe(`${folder}/link\n`)
  })

  test('on Windows a command is refused in words', async () => {
    vi.spyOn(process, 'platform', 'get').mockReturnValue('win32')
    const context = createProcessContext({ cwd: folder })
    expect(context.capabilities.shell).toBe(false)
    await expect(context.exec(await context.spawn(), 'true')).rejects.toThrow(
      /Windows has none; run this program in WSL/,
    )
  })

  test('FT-13 a command that reads gets nothing to read, and there is no terminal', async () => {
    expect((await run('read x; echo "$? $x"')).stdout).toBe('1 \n')
    expect(await run('cat </dev/tty')).toMatchObject({ exitCode: 1, stdout: '' })
    expect((await run('tty')).stdout).toBe('not a tty\n')
  })

  test('FT-13 a commit without a message fails instead of opening an editor', async () => {
    const made = await run('git init -q repo && cd repo && git -c user.name=a -c user.email=a@b.c commit --allow-empty')
    expect(made).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('editor') })
  })

  test('FT-14 death by a signal is reported, an exit code above 128 is an exit code, core dumps are off', async () => {
    expect(await run('echo a; kill -9 $$')).toEqual({ stdout: 'a\n', stderr: '', exitCode: null, signal: 'SIGKILL' })
    expect(await run('kill -SEGV $$')).toMatchObject({ exitCode: null, signal: 'SIGSEGV' })
    expect(await run('bash -c "kill -9 \\$\\$"; exit $?')).toMatchObject({ exitCode: 137 })
    expect((await run('ulimit -Sc; ulimit -Hc')).stdout).toBe('0\n0\n')
  })

  test.skipIf(!onLinux)('RS-04 when memory runs out, a command goes before its host', async () => {
    const own = Number(readFileSync('/proc/self/oom_score_adj', 'utf8'))
    expect(Number((await run('cat /proc/self/oom_score_adj')).stdout)).toBeGreaterThan(own)
  })
})

describe('the environment', () => {
  test('SE-01 no secret of the host is in the environment, however it is looked at', async () => {
    const secrets = {
      ANTHROPIC_API_KEY: 'planted-1',
      OPENAI_API_KEY: 'planted-2',
      LC_ALL: 'https://planted:3@example.com',
    }
    for (const [name, value] of Object.entries(secrets)) vi.stubEnv(name, value)
    const seen = await run(`env; export -p; set; "${process.execPath}" -p process.env; cat /proc/self/environ`)
    expect(seen.stdout).toContain('GIT_TERMINAL_PROMPT')
    expect(seen.stdout + seen.stderr).not.toMatch(/planted|_API_KEY/)
  })

  test('what the host names is there, as it is when the command starts', async () => {
    const context = createProcessContext({ cwd: folder, inheritEnv: ['LATER'], env: { OWN: 'own' } })
    const handle = await context.spawn()
    vi.stubEnv('LATER', 'set later')
    expect((await context.exec(handle, 'echo $LATER, $OWN')).stdout).toBe('set later, own\n')
  })

  test('inside a command of another host, what is started belongs to that one too', async () => {
    vi.stubEnv('LIBERO_COMMAND', 'outer-command')
    vi.stubEnv('LIBERO_HANDLE', 'outer-handle')
    const env = { LIBERO_COMMAND: 'not mine', LIBERO_HANDLE: 'not mine' }
    const { stdout } = await run('echo $LIBERO_COMMAND; echo $LIBERO_HANDLE', { env })
    expect(stdout).toMatch(/^outer-command [\da-f-]{36}\nouter-handle [\da-f-]{36}\n$/)
  })

  test('no start-up file of the shell is read, not even with input', async () => {
    const home = join(folder, 'home')
    await mkdir(home, { recursive: true })
    for (const name of ['.bashrc', '.profile', '.bash_profile', '.env'])
      writeFileSync(join(home, name), 'echo planted\n')
    const env = { HOME: home }
    vi.stubEnv('BASH_ENV', join(home, '.env'))
    vi.stubEnv('ENV', join(home, '.env'))
    expect(await run('cat', { env, input: 'read' })).toEqual({ stdout: 'read', stderr: '', exitCode: 0 })
    expect((await run('true', { env })).stdout).toBe('')
  })
})

describe('input and output', () => {
  test('a command reads its input, text or bytes', async () => {
    expect((await run('cat', { input: 'ä\0b' })).stdout).toBe('ä\0b')
    expect((await run('od -An -tx1', { input: new Uint8Array([0xff, 0]) })).stdout.trim()).toBe('ff 00')
    expect((await run('cat | wc -c', { input: 'x'.repeat(3_000_000) })).stdout.trim()).toBe('3000000')
    expect((await run('cat', { input: '' })).stdout).toBe('')
  })

  test('a command need not read its input', async () => {
    expect((await run('exec <&-; echo done', { input: 'x'.repeat(3_000_000) })).stdout).toBe('done\n')
  })

  test('a listener receives all of both streams, and the result has none', async () => {
    const heard = { stdout: '', stderr: '' }
    const onOutput: ExecOptions['onOutput'] = (text, from) => {
      heard[from] += text
      throw new Error('a listener that fails')
    }
    const result = await run(`printf 'ä'; printf '\\xe6\\xbc'; sleep 0.05; printf '\\xa2'; echo err >&2; exit 3`, {
      onOutput,
    })
    expect(result).toEqual({ stdout: '', stderr: '', exitCode: 3 })
    expect(heard).toEqual({ stdout: 'ä漢', stderr: 'err\n' })
  })

  test('FT-12 invalid bytes, NUL and escapes come through', async () => {
    expect((await run(`printf '\\xff\\xfe\\0\\033[2J'`)).stdout).toBe('\ufffd\ufffd\0\x1b[2J')
  })

  test('the output of a big command is complete up to its last byte', async () => {
    const { stdout } = await run('seq 1 300000; echo last')
    expect(stdout.endsWith('300000\nlast\n')).toBe(true)
    expect(stdout.split('\n').length).toBe(300_002)
  })
})

describe('what cannot be run', () => {
  test('FT-15 a folder that is missing, or was deleted, or is a file, is named; other handles are fine', async () => {
    const context = createProcessContext({ cwd: folder })
    const gone = join(folder, 'gone')
    await mkdir(gone)
    const handle = await context.spawn({ cwd: gone })
    expect((await context.exec(handle, 'echo here')).stdout).toBe('here\n')
    await rm(gone, { recursive: true })
    for (let n = 0; n < 2; n++)
      await expect(context.exec(handle, 'true')).rejects.toMatchObject({
        code: 'ENOENT',
        message: `The working folder ${gone} does not exist (any more); create it, or use another one`,
      })
    writeFileSync(join(folder, 'file'), '')
    const other = await context.spawn()
    await expect(context.exec(other, 'true', { cwd: 'file' })).rejects.toMatchObject({ code: 'ENOTDIR' })
    expect((await context.exec(other, 'rmdir "$PWD"; echo on', { cwd: await made('short') })).stdout).toBe('on\n')
    expect((await context.exec(other, 'echo fine')).stdout).toBe('fine\n')
  })

  test('a command with a NUL, or one too long for the system, is refused in words', async () => {
    await expect(run('echo \0')).rejects.toThrow(/cannot contain a NUL/)
    const long = {
      code: 'E2BIG',
      message: expect.stringContaining('at most 100000 are possible; write long text to a file'),
    }
    await expect(run(`echo ${'ä'.repeat(60_000)}`)).rejects.toMatchObject(long)
    expect((await run(`true ${'x'.repeat(99_000)}; echo ok`)).stdout).toBe('ok\n')
    const env = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`V${n}`, 'x'.repeat(120_000)]))
    await expect(run('true', { env })).rejects.toMatchObject({ code: 'E2BIG' })
  })

  test('on a destroyed handle nothing runs', async () => {
    const context = createProcessContext({ cwd: folder })
    const handle = await context.spawn()
    await context.exec(handle, 'true')
    await context.destroy(handle)
    await expect(context.exec(handle, 'touch ran')).rejects.toThrow(`${handle.id} was destroyed; spawn another one`)
    await expect(context.readFile(handle, 'x')).rejects.toThrow('was destroyed')
    expect(readdirSync(folder)).not.toContain('ran')
  })

  test('what was aborted before does not start, and says why', async () => {
    const signal = AbortSignal.abort(new Error('changed my mind'))
    await expect(run('touch ran', { signal })).rejects.toThrow('changed my mind')
    expect(readdirSync(folder)).not.toContain('ran')
  })
})

describe('how a command ends', () => {
  test('FT-08 what holds the output open does not hold up the result, and is named and ended', async () => {
    const { result, alive } = await lookedAfter('sleep 60 & echo done')
    expect(result).toEqual({ stdout: 'done\n', stderr: '', exitCode: 0, leftRunning: ['sleep 60'] })
    expect(alive).toEqual([])
  })

  test('output that is on its way after the end is waited for', async () => {
    expect(await run('(sleep 0.05; echo late) & echo now')).toEqual({ stdout: 'now\nlate\n', stderr: '', exitCode: 0 })
  })

  test('a listener receives nothing after the result', async () => {
    const heard: string[] = []
    await run('(while :; do echo x; sleep 0.01; done) & echo done', { onOutput: (text) => heard.push(text) })
    const then = heard.length
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(heard.length).toBe(then)
  })

  const escapes: Record<string, string> = {
    'its own session': 'setsid sleep 61 & sleep 0.1',
    'its own session, quietly': 'setsid nohup sleep 61 >/dev/null 2>&1 </dev/null & sleep 0.1',
    'a double fork': '(setsid sh -c "sleep 61 & exit" >/dev/null 2>&1 &); sleep 0.1',
    'its own process group': 'set -m; sleep 61 >/dev/null 2>&1 & sleep 0.1',
    'its own process group, without the environment': 'set -m; env -i sleep 61 >/dev/null 2>&1 & sleep 0.1',
    'a deaf ear': `(trap '' TERM; exec setsid sleep 61 >/dev/null 2>&1) & sleep 0.1`,
  }
  test.skipIf(!onLinux).each(Object.entries(escapes))(
    'FT-09 what left for %s is found and ended',
    async (_, command) => {
      const { result, alive } = await lookedAfter(command)
      expect(result.exitCode).toBe(0)
      expect(result.leftRunning?.join()).toContain('sleep 61')
      expect(alive).toEqual([])
    },
  )

  test('FT-10 at its time limit a command is ended, and what it said until then is kept', async () => {
    const { result, alive } = await lookedAfter('echo begun; setsid sleep 62 & sleep 63', { timeout: 400 })
    expect(result).toMatchObject({ stdout: 'begun\n', exitCode: null, signal: 'SIGTERM', timedOut: true })
    if (onLinux) expect(result.leftRunning?.join()).toContain('sleep 62')
    expect(alive).toEqual([])
  })

  test('FT-10 a command may tidy up when its time is over', async () => {
    const command = `trap 'sleep 0.1; echo tidied; exit 0' TERM; echo begun; while :; do sleep 0.01; done`
    const expected = { stdout: 'begun\ntidied\n', exitCode: null, timedOut: true }
    expect(await run(command, { timeout: 400 })).toMatchObject(expected)
  })

  test('an abort ends a command that does not listen, with all it started', async () => {
    const abort = new AbortController()
    const onOutput = () => abort.abort()
    const command = `trap '' TERM; (setsid sleep 64 &); sleep 0.1; echo begun; sleep 65`
    const { result, alive } = await lookedAfter(command, { onOutput, signal: abort.signal })
    expect(result).toMatchObject({ exitCode: null, signal: 'SIGKILL' })
    expect(result.timedOut).toBeUndefined()
    expect(alive).toEqual([])
  })

  test('after its end nothing is signalled any more: its id may belong to another process by then', async () => {
    const abort = new AbortController()
    await run('echo begun; sleep 68', { timeout: 300, signal: abort.signal, onOutput: () => abort.abort() })
    const kill = vi.spyOn(process, 'kill')
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(kill.mock.calls).toEqual([])
  })

  test('destroy ends what runs, and resolves when it is gone', async () => {
    const context = createProcessContext({ cwd: folder })
    const handle = await context.spawn()
    const other = await context.spawn()
    let begun = (): void => {}
    const running = new Promise<void>((resolve) => (begun = resolve))
    const mark = (await context.exec(handle, 'echo $LIBERO_HANDLE')).stdout.trim()
    const work = context.exec(handle, `trap '' TERM; (setsid sleep 66 &); sleep 0.1; echo begun; sleep 67`, {
      onOutput: begun,
    })
    const unharmed = context.exec(other, 'sleep 0.7; echo unharmed')
    await running
    expect(processesWith(mark).length).toBeGreaterThan(onLinux ? 1 : -1)
    await Promise.all([context.destroy(handle), context.destroy(handle)])
    expect(processesWith(mark)).toEqual([])
    expect((await work).exitCode).toBeNull()
    expect((await unharmed).stdout).toBe('unharmed\n')
    await context.destroy(handle)
  })

  test.runIf(onLinux)('destroy ends a process that hid from the end of its command', async () => {
    const context = createProcessContext({ cwd: folder })
    const handle = await context.spawn()
    const mark = (await context.exec(handle, 'echo $LIBERO_HANDLE')).stdout.trim()
    await context.exec(handle, 'env -u LIBERO_COMMAND setsid sleep 65 >/dev/null 2>&1 & sleep 0.1')
    expect(processesWith(mark).length).toBe(1)
    await context.destroy(handle)
    expect(processesWith(mark)).toEqual([])
  })

  test('a command that destroy overtakes does nothing, and does not fail', async () => {
    const context = createProcessContext({ cwd: folder })
    const handle = await context.spawn()
    const work = context.exec(handle, 'touch overtaken')
    await context.destroy(handle)
    expect(await work).toEqual({ stdout: '', stderr: '', exitCode: null })
    expect(readdirSync(folder)).not.toContain('overtaken')
  })

  test('no listener stays behind: not on the process, not on the signal', async () => {
    const before = process.listenerCount('exit')
    const signal = new AbortController().signal
    const context = createProcessContext({ cwd: folder })
    const handle = await context.spawn()
    const work = Array.from({ length: 5 }, () => context.exec(handle, 'sleep 0.1', { signal }))
    await vi.waitFor(() => expect(process.listenerCount('exit')).toBe(before + 1))
    expect(getEventListeners(signal, 'abort').length).toBe(5)
    await Promise.all(work)
    expect(process.listenerCount('exit')).toBe(before)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

async function run(command: string, options?: ExecOptions) {
  const context = createProcessContext({ cwd: folder })
  return context.exec(await context.spawn(), command, options)
}

/** The result of a command, and which of its processes there are right after it. */
async function lookedAfter(command: string, options?: ExecOptions) {
  const context = createProcessContext({ cwd: folder })
  const handle = await context.spawn()
  const mark = await markOf(context, handle)
  const result = await context.exec(handle, command, options)
  return { result, alive: processesWith(mark) }
}

async function markOf(context: ExecutionContext, handle: ExecutionHandle): Promise<string> {
  return (await context.exec(handle, 'echo $LIBERO_HANDLE')).stdout.trim()
}

function processesWith(mark: string): string[] {
  if (!onLinux) return []
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark)
    } catch {
      return false
    }
  })
}

async function made(name: string): Promise<string> {
  await mkdir(join(folder, name))
  return join(folder, name)
}

test('FS-04 a command that puts a link in place of the working folder does not widen what files may be read', async () => {
  const outside = mkdtempSync(join(folder, 'outside-'))
  writeFileSync(join(outside, 'secret.txt'), 'secret')
  const context = createProcessContext({ cwd: mkdtempSync(join(folder, 'inside-')) })
  const handle = await context.spawn()
  await context.exec(handle, 'cd .. && rm -r "$OLDPWD" && ln -s "$OUT" "$OLDPWD"', { env: { OUT: outside } })
  await expect(context.readFile(handle, 'secret.txt')).rejects.toMatchObject({ code: 'EOUTSIDE' })
  await context.destroy(handle)
})
