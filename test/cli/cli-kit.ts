import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { builtCli } from '../built-cli.ts'
import { compileCache } from '../compile-cache.ts'
import { fakeIo, runLibero } from './fake-io.ts'

const main = await builtCli()

/** A test machine: a home, a project, and of the environment only `PATH`. */
export interface Desk {
  readonly home: string
  readonly cwd: string
  readonly env: Record<string, string>
  write(path: string, content: string): void
  /** Runs `libero …` in this process, which takes a tenth of the time that a separate one takes. */
  libero(args: readonly string[], more?: RunOptions): Promise<Ended>
  /** Runs `libero …` as a separate process. */
  process(args: readonly string[], more?: RunOptions): Promise<Ended>
  start(args: readonly string[], more?: { env?: Record<string, string> }): Running
}

interface RunOptions {
  readonly stdin?: string
  readonly env?: Record<string, string>
}

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Running {
  readonly child: ChildProcessWithoutNullStreams
  readonly said: { out: string; err: string }
  /** Resolves when stdout and stderr together contain this. */
  until(text: string | RegExp): Promise<void>
  readonly ended: Promise<Ended>
}

/**
 * `baseURL` is the address of a service with OpenAI's chat API; it becomes the default provider `mock`. Then there are
 * snapshots of files only if `snapshots` is set: each prompt would start a dozen processes for them.
 */
export function openDesk(
  baseURL?: string,
  onEnd: (end: () => void) => void = onTestFinished,
  { snapshots = false } = {},
): Desk {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'libero-desk-')))
  const [home, cwd] = [join(folder, 'home'), join(folder, 'project')]
  mkdirSync(home, { mode: 0o700 })
  mkdirSync(cwd)
  onEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  if (baseURL !== undefined)
    writeFileSync(
      join(home, 'config.json'),
      JSON.stringify({
        provider: 'mock',
        providers: { mock: { baseURL, model: 'mock-1' } },
        snapshots: { enabled: snapshots },
      }),
      { mode: 0o600 },
    )
  const env = { PATH: process.env.PATH ?? '', HOME: folder, LIBERO_HOME: home, NODE_NO_WARNINGS: '1', ...compileCache }

  function start(args: readonly string[], more: { env?: Record<string, string> } = {}): Running {
    const child = spawn(process.execPath, [main, ...args], {
      cwd,
      env: { ...env, ...more.env },
    })
    onEnd(() => void child.kill('SIGKILL'))
    child.stdin.on('error', () => {})
    const said = { out: '', err: '' }
    const listeners = new Set<() => void>()
    for (const [stream, name] of [
      [child.stdout, 'out'],
      [child.stderr, 'err'],
    ] as const) {
      stream.setEncoding('utf8')
      stream.on('data', (text: string) => {
        said[name] += text
        for (const listener of listeners) listener()
      })
    }
    const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, ...said })))
    return {
      child,
      said,
      ended,
      until: (text) =>
        new Promise((resolve, reject) => {
          const look = (): void => {
            const all = said.out + said.err
            if (typeof text === 'string' ? !all.includes(text) : !text.test(all)) return
            listeners.delete(look)
            resolve()
          }
          listeners.add(look)
          void ended.then(({ code }) =>
            reject(new Error(`ended with ${code} before "${text}":\n${said.out}\n${said.err}`)),
          )
          look()
        }),
    }
  }

  return {
    home,
    cwd,
    env,
    start,
    write(path, content) {
      mkdirSync(dirname(join(cwd, path)), { recursive: true })
      writeFileSync(join(cwd, path), content)
    },
    libero: (args, { stdin = '', env: more } = {}) =>
      runLibero(
        args,
        fakeIo({ home, cwd, userHome: folder, env: { ...env, ...more }, stdin, fetch: globalThis.fetch }),
      ),
    process(args, { stdin = '', env: more } = {}) {
      const { child, ended } = start(args, more ? { env: more } : {})
      child.stdin.end(stdin)
      return ended
    },
  }
}
