import { spawn } from 'node:child_process'
import { programEnv } from '../../platform/program-path.ts'
import type { Output, TerminalStreams } from './output.ts'

interface CopyOptions {
  readonly output: Output
  readonly env: TerminalStreams['env']
  readonly platform?: NodeJS.Platform
}

/**
 * Copies a text to the clipboard of the person: by a program of this machine, or, over SSH and without one, through the
 * terminal. Resolves with the way it went; the terminal does not tell whether it took the text.
 */
export async function copyText(
  text: string,
  { output, env, platform = process.platform }: CopyOptions,
): Promise<string> {
  const isRemote = Boolean(env.SSH_CONNECTION ?? env.SSH_TTY)
  for (const [program, ...args] of isRemote ? [] : programs(platform, env))
    if (await feed(program!, args, text)) return program!
  const bytes = Buffer.from(text)
  if (bytes.length > mostBytes)
    throw new Error(
      `The text has ${bytes.length} bytes; a terminal takes at most ${mostBytes}, and no program for the clipboard was found: use /export`,
    )
  const sequence = `\x1b]52;c;${bytes.toString('base64')}\x07`
  output.write(env.TMUX ? `\x1bPtmux;${sequence.replaceAll('\x1b', '\x1b\x1b')}\x1b\\` : sequence)
  return 'the terminal (OSC 52), if it allows that'
}

/** Terminals ignore longer texts. */
const mostBytes = 100_000

function programs(platform: NodeJS.Platform, env: CopyOptions['env']): readonly (readonly string[])[] {
  if (platform === 'darwin') return [['pbcopy']]
  if (platform === 'win32') return [['clip']]
  return [
    ...(env.WAYLAND_DISPLAY ? [['wl-copy']] : []),
    ...(env.DISPLAY
      ? [
          ['xclip', '-selection', 'clipboard'],
          ['xsel', '--clipboard', '--input'],
        ]
      : []),
    ...(env.WSL_DISTRO_NAME ? [['clip.exe']] : []),
  ]
}

/** Whether the program took the text. */
function feed(program: string, args: readonly string[], text: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'ignore'], timeout: 5000, env: programEnv() })
    child.on('error', () => resolve(false))
    child.on('exit', (code) => resolve(code === 0))
    child.stdin.on('error', () => {})
    child.stdin.end(text)
  })
}
