import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { spawn } from '@lydell/node-pty'
import { build } from '../scripts/build.ts'
import { atMost, compare, type Result } from './measure.ts'
import { startStreamingService } from './tui-service.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const starts = 15
const keys = 200

/** The command line as it is installed, in a pseudo-terminal, against Node programs that do nothing else. */
export async function tuiInTerminal(): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'libero-bench-'))
  const service = await startStreamingService()
  try {
    const problem = await build(join(root, 'dist'))
    if (problem !== undefined) throw new Error(`build: ${problem}`)
    const env = prepared(folder, service.port)
    const start = (...args: string[]): Started => startProgram(args, env, folder)
    const libero = (): Started => start(join(root, 'bin/libero.js'), '--provider', 'mock')
    const [floor, painted, usable] = await startTimes(() => start('-e', ''), libero)
    const echo = start(
      '-e',
      'process.stdin.setRawMode(true); process.stdin.on("data", (key) => process.stdout.write(key)); process.stdout.write("ready")',
    )
    await echo.until('ready')
    const app = libero()
    await app.until('enter sends')
    await keyTimes(app, echo) // loads what completes
    app.type('\x15')
    await pause(2000)
    const wakeUps = await wakeUpsOf(app.pid)
    const idle = await keyTimes(app, echo)
    app.type('\x15go\r')
    await app.until('word')
    const streaming = await keyTimes(app, echo)
    await Promise.all([app.kill(), echo.kill()])
    return [
      // 120 and 150 ms where an empty process takes 26.
      compare('tui: first paint, against an empty process', painted, floor, 4.5, 'start'),
      compare('tui: a key is shown, against an empty process', usable, floor, 5.7, 'start'),
      atMost('tui: wake-ups in two idle seconds', wakeUps, 0),
      atMost('tui: key to echo, idle, p99 in ms beyond a bare echo', idle, 5),
      atMost('tui: key to echo, streaming, p99 in ms beyond a bare echo', streaming, 16),
    ]
  } finally {
    service.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** The least of several in microseconds, as without other programs on the machine: an empty process ends, the first paint comes, a key that was typed at once is shown. */
async function startTimes(empty: () => Started, libero: () => Started): Promise<[number, number, number]> {
  const samples: [number[], number[], number[]] = [[], [], []]
  for (let round = -1; round < starts; round++) {
    const times: number[] = []
    const nothing = empty()
    await nothing.ended
    times.push(nothing.age())
    const painted = libero()
    await painted.until('enter sends')
    times.push(painted.age())
    await painted.kill()
    const used = libero()
    used.type('z')
    await used.until('› z')
    times.push(used.age())
    await used.kill()
    if (round >= 0) for (const [i, time] of times.entries()) samples[i]!.push(time)
  }
  return [Math.min(...samples[0]), Math.min(...samples[1]), Math.min(...samples[2])]
}

/** p99 in milliseconds from a key to its letter in the output, beyond that of a program that only echoes, in turns. */
async function keyTimes(program: Started, floor: Started): Promise<number> {
  const [times, least]: [number[], number[]] = [[], []]
  for (let n = 0; n < keys; n++)
    for (const [one, list] of [
      [floor, least],
      [program, times],
    ] as const) {
      const letter = String.fromCodePoint(0x3b1 + (n % 24)) // Greek: nothing else on the screen has these
      one.forget()
      const begun = performance.now()
      one.type(letter)
      await one.until(letter)
      list.push(performance.now() - begun)
      await pause(3 + (n % 11))
    }
  return Math.max(0, p99(times) - p99(least))
}

const p99 = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!

/** How often the main thread was woken up in two seconds, at least: V8 looks after its heap every eight seconds, until it finds nothing. */
async function wakeUpsOf(pid: number): Promise<number> {
  const read = (): number =>
    Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/task/${pid}/status`, 'utf8'))?.[1])
  const counts: number[] = []
  for (let window = 0; window < 3; window++) {
    const before = read()
    await pause(2000)
    counts.push(read() - before)
  }
  return Math.min(...counts)
}

type Started = ReturnType<typeof startProgram>

function startProgram(args: readonly string[], env: Record<string, string>, cwd: string) {
  const begun = performance.now()
  const child = spawn(process.execPath, [...args], { cols: 80, rows: 24, cwd, env, name: 'xterm-256color' })
  let text = ''
  let age = 0
  let wanted: { readonly words: string; readonly found: () => void } | undefined
  const look = (): void => {
    if (!wanted || !plain(text).includes(wanted.words)) return
    age = (performance.now() - begun) * 1000
    wanted.found()
    wanted = undefined
  }
  child.onData((data) => {
    text = (text + data).slice(-20_000)
    look()
  })
  let isOver = false
  const ended = new Promise<void>((resolve) =>
    child.onExit(() => {
      isOver = true
      age ||= (performance.now() - begun) * 1000
      resolve()
    }),
  )
  return {
    pid: child.pid,
    ended,
    /** Microseconds from its start to what was last waited for, or its end. */
    age: () => age,
    type: (typed: string) => child.write(typed),
    forget(): void {
      text = ''
    },
    until: (words: string) =>
      new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${words} was not shown:\n${plain(text)}`)), 30_000)
        wanted = {
          words,
          found: () => {
            clearTimeout(timer)
            resolve()
          },
        }
        look()
      }),
    async kill(): Promise<void> {
      if (!isOver) child.kill('SIGKILL')
      await ended
    },
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: sequences are what it removes
const plain = (text: string): string => text.replace(/\x1b\[[?<>=]?[\d;]*[a-zA-Z]/g, '')

/** A user's own folder with a service in it. */
function prepared(folder: string, port: number): Record<string, string> {
  const home = join(folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  const providers = { mock: { baseURL: `http://127.0.0.1:${port}/v1`, model: 'mock' } }
  writeFileSync(join(home, 'config.json'), JSON.stringify({ providers }), { mode: 0o600 })
  const own = { PATH: process.env.PATH ?? '', HOME: folder, LIBERO_HOME: home, TERM: 'xterm-256color' }
  return { ...own, NODE_COMPILE_CACHE: join(folder, 'cache') }
}
