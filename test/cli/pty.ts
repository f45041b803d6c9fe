import { fileURLToPath } from 'node:url'
import { spawn } from '@lydell/node-pty'
import headless from '@xterm/headless'
import { onTestFinished } from 'vitest'

export interface PtyOptions {
  readonly columns?: number
  readonly rows?: number
  readonly env?: Readonly<Record<string, string>>
}

/** A program on a real pseudo-terminal, and the screen that somebody in front of it sees. */
export interface Pty {
  /** Everything it wrote, as bytes came. */
  readonly raw: string
  readonly titles: readonly string[]
  readonly isAlternate: boolean
  type(keys: string): void
  resize(columns: number, rows: number): void
  /** The screen with what has scrolled off it, without blanks at the ends of lines, as soon as it is like this. */
  until(isIt: (screen: string) => boolean, what?: string): Promise<string>
  see(...words: string[]): Promise<string>
  /** The exit code, and the screen it left. */
  ended(): Promise<{ readonly code: number; readonly screen: string }>
}

/** Starts a file of this repository with the Node that runs the tests. */
export function startPty(file: string, args: readonly string[], options: PtyOptions = {}): Pty {
  const { columns = 100, rows = 40, env = {} } = options
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url))
  const base = { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', LANG: 'C.UTF-8' }
  const child = spawn(process.execPath, ['--conditions=libero-source', path, ...args], {
    cols: columns,
    rows,
    env: { ...base, ...env },
    name: env.TERM ?? base.TERM, // it has the last word on $TERM
  })
  const screen = new headless.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true })
  const titles: string[] = []
  screen.onTitleChange((title) => titles.push(title))
  let raw = ''
  let written = Promise.resolve()
  child.onData((data) => {
    raw += data
    written = new Promise((done) => screen.write(data, done))
  })
  let code: number | undefined
  child.onExit(({ exitCode }) => {
    code = exitCode
  })
  onTestFinished(() => {
    if (code === undefined) child.kill('SIGKILL')
    screen.dispose()
  })

  const shown = (): string => {
    const { active } = screen.buffer
    const lines = Array.from({ length: active.length }, (_, i) => active.getLine(i)?.translateToString(true) ?? '')
    return lines.join('\n').trimEnd()
  }
  const until = async (isIt: (screen: string) => boolean, what = 'what was waited for'): Promise<string> => {
    for (let tries = 0; tries < 800; tries++) {
      await written
      const now = shown()
      if (isIt(now)) return now
      await new Promise((go) => setTimeout(go, 25))
    }
    throw new Error(`the screen never showed ${what}; it shows:\n${shown()}`)
  }
  return {
    get raw() {
      return raw
    },
    titles,
    get isAlternate() {
      return screen.buffer.active.type === 'alternate'
    },
    type: (keys) => child.write(keys),
    resize(to, high) {
      child.resize(to, high)
      screen.resize(to, high)
    },
    until,
    see: (...words) => until((text) => words.every((word) => text.includes(word)), words.join(', ')),
    async ended() {
      const left = await until(() => code !== undefined, 'an end')
      return { code: code!, screen: left }
    },
  }
}

/** Whether only sequences of our own making are in it: colours, frames, the cursor, and moves within live lines. */
export function foreignIn(raw: string): string[] {
  // biome-ignore-start lint/suspicious/noControlCharactersInRegex: they are what this is about
  const rest = raw.replace(/\x1b\[(?:\?2026[hl]|\?25[hl]|\?7[hl]|[JK]|\d+A|[\d;]*m)|\r\n|\r(?=\x1b\[)/g, '')
  return rest.match(/[\x00-\x1f\x7f-\x9f].{0,10}/gs) ?? []
  // biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above
}
