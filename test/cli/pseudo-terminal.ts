import { tmpdir } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { spawn } from '@lydell/node-pty'
import xterm from '@xterm/headless'
import { eastAsianWidth } from 'get-east-asian-width'
import { onTestFinished } from 'vitest'
import { compileCache } from '../compile-cache.ts'
import { UnicodeGraphemesAddon } from '../unicode-graphemes.ts'

/** A program in a pseudo-terminal, whose screen the test reads and at which it types. */
export interface PseudoTerminal {
  /** All rows, also those that have scrolled away, without blanks at their ends. */
  rows(): string[]
  /** The same, with rows that were wrapped joined again. */
  text(): string
  /** All bytes that came. */
  readonly raw: string
  /** What it made of the window's title. */
  readonly titles: readonly string[]
  readonly isAlternate: boolean
  /** The character before the cursor. */
  readonly beforeCursor: string
  /** The row of the screen and the column, from 0. */
  readonly cursor: { readonly row: number; readonly column: number }
  type(keys: string): void
  resize(columns: number, rows: number): void
  kill(signal: string): void
  /** Waits until the screen has it, or is like that, and gives what it has then. */
  until(wanted: string | RegExp | ((screen: string) => boolean), inWords?: string): Promise<string>
  /** Waits until all of these words are there. */
  see(...words: string[]): Promise<string>
  readonly ended: Promise<number>
}

export interface PseudoTerminalOptions {
  /** Default: the folder for temporary files. */
  readonly cwd?: string
  readonly env?: Record<string, string>
  readonly columns?: number
  readonly rows?: number
  /** Draws grapheme clusters as one character, as newer terminals do. */
  readonly hasGraphemes?: boolean
  /** Draws characters of ambiguous width over two columns, as East Asian terminals do. */
  readonly isAmbiguousWide?: boolean
  /** How fast it takes what the program writes. Default: at once. */
  readonly bytesPerSecond?: number
  /** When the program is killed, if it still runs. Default: when the test is over. */
  readonly onEnd?: (end: () => void) => void
}

/** Starts a program in a pseudo-terminal. */
export function startInTerminal(argv: readonly [string, ...string[]], options: PseudoTerminalOptions): PseudoTerminal {
  const { cwd = tmpdir(), env = {}, columns: cols = 80, rows = 24 } = options
  const screen = new xterm.Terminal({ cols, rows, scrollback: 20_000, allowProposedApi: true })
  if (options.isAmbiguousWide) drawAmbiguousWide(screen)
  if (options.hasGraphemes) {
    screen.loadAddon(new UnicodeGraphemesAddon())
    screen.unicode.activeVersion = '15-graphemes'
  }
  const [file, ...args] = argv
  const child = spawn(file, args, {
    cols,
    rows,
    cwd,
    name: env.TERM ?? 'xterm-256color', // it has the last word on $TERM
    env: {
      PATH: process.env.PATH ?? '',
      HOME: cwd,
      TERM: 'xterm-256color',
      NODE_NO_WARNINGS: '1',
      ...compileCache,
      ...env,
    },
  })
  const titles: string[] = []
  screen.onTitleChange((title) => titles.push(title))
  let raw = ''
  let isOver = false
  child.onData((data) => {
    raw += data
    screen.write(data)
    if (options.bytesPerSecond === undefined) return
    child.pause()
    setTimeout(() => child.resume(), (1000 * data.length) / options.bytesPerSecond)
  })
  screen.onData((reply) => isOver || child.write(reply))
  const ended = new Promise<number>((resolve) =>
    child.onExit(({ exitCode }) => {
      isOver = true
      screen.write('', () => resolve(exitCode))
    }),
  )
  const { onEnd = onTestFinished } = options
  onEnd(() => {
    if (!isOver) child.kill('SIGKILL')
    screen.dispose()
  })

  const lines = () => {
    const { active } = screen.buffer
    return Array.from({ length: active.length }, (_, i) => active.getLine(i)!)
  }
  const terminal: PseudoTerminal = {
    rows: () => lines().map((line) => line.translateToString(true)),
    text: () =>
      lines()
        .map((line) => `${line.isWrapped ? '' : '\n'}${line.translateToString(true)}`)
        .join('')
        .trim(),
    get raw() {
      return raw
    },
    titles,
    get isAlternate() {
      return screen.buffer.active.type === 'alternate'
    },
    get beforeCursor() {
      const { active } = screen.buffer
      const line = active.getLine(active.baseY + active.cursorY)
      const [last, one] = [active.cursorX - 1, active.cursorX - 2].map((x) => line?.getCell(x)?.getChars() ?? '')
      return last === '' ? one! : last! // a wide character takes two cells
    },
    get cursor() {
      return { row: screen.buffer.active.cursorY, column: screen.buffer.active.cursorX }
    },
    type: (keys) => child.write(keys),
    kill: (signal) => child.kill(signal),
    resize(columns, height) {
      screen.resize(columns, height)
      child.resize(columns, height)
    },
    async until(wanted, inWords = String(wanted)) {
      for (let i = 0; i < 2000; i++) {
        const text = terminal.text()
        if (isLike(text, wanted)) return text
        if (isOver) break
        await pause(20)
      }
      throw new Error(`${isOver ? 'it ended' : 'too long'} before ${inWords} was seen:\n${terminal.text()}`)
    },
    see: (...words) => terminal.until((text) => words.every((word) => text.includes(word)), words.join(', ')),
    ended,
  }
  return terminal
}

function drawAmbiguousWide({ unicode }: InstanceType<typeof xterm.Terminal>): void {
  const wcwidth = (code: number): 0 | 1 | 2 =>
    code < 0x20 || /\p{Mn}/u.test(String.fromCodePoint(code)) ? 0 : eastAsianWidth(code, { ambiguousAsWide: true })
  // As xterm.js packs it: the width, and whether the character joins the one before.
  const charProperties = (code: number, before: number): number =>
    wcwidth(code) > 0 || before === 0 ? wcwidth(code) << 1 : (before & 6) | 1
  unicode.register({ version: 'wide', wcwidth, charProperties })
  unicode.activeVersion = 'wide'
}

function isLike(text: string, wanted: string | RegExp | ((screen: string) => boolean)): boolean {
  if (typeof wanted === 'function') return wanted(text)
  return typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text)
}

/** What is in it beside sequences of our own making: colours, frames, the cursor, pastes, and moves within live lines. */
export function foreignIn(raw: string): string[] {
  // biome-ignore-start lint/suspicious/noControlCharactersInRegex: they are what this is about
  const ours =
    /\x1b\[(?:\?(?:2026|2004|1004|25|7)[hl]|[JK]|\d+[AB]|\d*G|[\d;]*m|6n|>1u|<u|>4(?:;2)?m|2[23];2t)|\x1b\](?:9;4;\d|2;libero · [^\x07\x1b]*)\x07|\x1b\]8;(?:id=\w+;(?:https?|mailto|file):[\x21-\x7e]*|;)\x1b\\|\x1b\]133;[AC]\x1b\\|\x1b[78]|\r+\n|\r(?=\x1b\[|·)/g
  return raw.replace(ours, '').match(/[\x00-\x1f\x7f-\x9f].{0,10}/gs) ?? []
  // biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above
}
