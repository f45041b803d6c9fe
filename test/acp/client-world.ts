import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { onTestFinished } from 'vitest'
import type { Handlers, Json } from './acp-kit.ts'

/** The files and terminals of an editor. */
export interface ClientWorld {
  readonly handlers: Handlers
  /** Texts that are not saved, by path. */
  readonly buffers: Map<string, string>
  /** The paths that were read and written through the editor. */
  readonly read: string[]
  readonly written: string[]
  /** The commands that ran in terminals. */
  readonly commands: string[]
  /** Terminals that were not released. */
  readonly terminals: ReadonlyMap<string, unknown>
}

export function clientWorld(): ClientWorld {
  const buffers = new Map<string, string>()
  const terminals = new Map<string, Terminal>()
  const [read, written, commands]: string[][] = [[], [], []]
  let count = 0
  onTestFinished(() => {
    for (const { kill } of terminals.values()) kill()
  })
  const terminal = ({ terminalId }: Json): Terminal => {
    const found = terminals.get(terminalId)
    if (!found) throw new Error(`no terminal ${terminalId}`)
    return found
  }
  return {
    buffers,
    read: read!,
    written: written!,
    commands: commands!,
    terminals,
    handlers: {
      'fs/read_text_file': ({ path }) => {
        read!.push(path)
        return { content: buffers.get(path) ?? readFileSync(path, 'utf8').replaceAll('\r\n', '\n') }
      },
      'fs/write_text_file': ({ path, content }) => {
        written!.push(path)
        buffers.delete(path) // editors save what an agent writes
        writeFileSync(path, content)
      },
      'terminal/create': (params) => {
        commands!.push(params.args.at(-1))
        const terminalId = `t${++count}`
        terminals.set(terminalId, startTerminal(params))
        return { terminalId }
      },
      'terminal/output': (params) => terminal(params).output(),
      'terminal/wait_for_exit': (params) => terminal(params).exited,
      'terminal/kill': (params) => terminal(params).kill(),
      'terminal/release': (params) => {
        terminal(params).kill()
        terminals.delete(params.terminalId)
      },
    },
  }
}

interface Terminal {
  output(): { output: string; truncated: boolean; exitStatus?: Json }
  readonly exited: Promise<{ exitCode: number | null; signal: string | null }>
  kill(): void
}

function startTerminal({ command, args, cwd, env, outputByteLimit }: Json): Terminal {
  const variables = Object.fromEntries(env.map(({ name, value }: Json) => [name, value]))
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env.PATH, ...variables },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let bytes = Buffer.alloc(0)
  let truncated = false
  const take = (chunk: Buffer): void => {
    bytes = Buffer.concat([bytes, chunk])
    if (bytes.length <= outputByteLimit) return
    bytes = bytes.subarray(bytes.length - outputByteLimit)
    truncated = true
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const kill = (): void => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {} // it has ended
  }
  const exited = new Promise<{ exitCode: number | null; signal: string | null }>((resolve) => {
    child.on('error', () => resolve({ exitCode: 127, signal: null }))
    child.on('close', (exitCode, signal) => resolve({ exitCode, signal }))
  })
  return { output: () => ({ output: bytes.toString('utf8'), truncated }), exited, kill }
}
