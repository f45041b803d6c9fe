import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type PseudoTerminal, type PseudoTerminalOptions, startInTerminal } from '../cli/pseudo-terminal.ts'

const child = fileURLToPath(new URL('./tui-child.ts', import.meta.url))
const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))

/** The program and arguments that start the interactive terminal with a script. */
export const tuiCommand = (script: string): readonly [string, ...string[]] => [
  node,
  '--conditions=libero-source',
  child,
  script,
]

/** The interactive terminal with a scripted model, in a folder of its own. The emulator wraps lines as xterm.js does. */
export function startTui(
  script: string,
  options: PseudoTerminalOptions = {},
): PseudoTerminal & { readonly cwd: string } {
  const { cwd = realpathSync(mkdtempSync(join(tmpdir(), 'libero-tui-'))), env = {} } = options
  const terminal = startInTerminal(tuiCommand(script), { ...options, cwd, env: { TERM_PROGRAM: 'vscode', ...env } })
  return Object.assign(terminal, { cwd })
}

/** A shell with job control, and the line that starts the interactive terminal in it. */
export function startShell(script: string): PseudoTerminal & { readonly line: string } {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'libero-tui-')))
  const env = { TERM_PROGRAM: 'vscode', PS1: 'shell> ', BASH_SILENCE_DEPRECATION_WARNING: '1' }
  const terminal = startInTerminal(['bash', '--norc', '--noprofile', '-i'], { cwd, env })
  return Object.assign(terminal, { line: tuiCommand(script).join(' ') })
}

/** The modes that are on after these bytes: `?2004`, `kitty`, `modifyOtherKeys`, and `cursor hidden`. */
export function modesAfter(raw: string): string[] {
  const on = new Set<string>()
  // biome-ignore lint/suspicious/noControlCharactersInRegex: sequences are what this is about
  for (const [, sequence] of raw.matchAll(/\x1b\[([?<>=]?[\d;]*[a-zA-Z])/g)) {
    const [, mode, set] = /^\?(\d+)([hl])$/.exec(sequence!) ?? []
    if (mode === '25' || mode === '7') toggle(on, mode === '25' ? 'cursor hidden' : 'no wrap', set === 'l')
    else if (mode !== undefined) toggle(on, `?${mode}`, set === 'h')
    else if (/^>\d+u$/.test(sequence!)) on.add('kitty')
    else if (sequence === '<u') on.delete('kitty')
    else if (/^>4;[12]m$/.test(sequence!)) on.add('modifyOtherKeys')
    else if (/^>4(?:;0)?m$/.test(sequence!)) on.delete('modifyOtherKeys')
  }
  return [...on]
}

function toggle(on: Set<string>, name: string, isOn: boolean): void {
  if (isOn) on.add(name)
  else on.delete(name)
}
