import { readFile } from 'node:fs/promises'
import { type Explanation, explainLine } from '../src/authority/rules/explain.ts'
import type { SandboxSupport } from '../src/core/execution.ts'
import { createShellReader, type ShellReader } from '../src/shell/shell-reader.ts'
import { basePolicy } from './shell-corpus/base-policy.ts'

const usage = 'usage: npm run shell-corpus -- <file with one {"row", "name", "cmd"} per line>'

/**
 * Judges every line of a file of hostile shell lines under the base policy and in plan, in a clone that is not trusted, and
 * names those that would run without a question: without a sandbox, or in one that can change or reach something. Exits
 * with 1 where there are such, with 2 where something could not be read.
 */
async function main([file, ...rest]: readonly string[]): Promise<number> {
  if (file === undefined || rest.length > 0) return complain(usage)
  const text = await readFile(file, 'utf8').catch((error: Error) => error)
  if (text instanceof Error) return complain(`shell-corpus: ${file} cannot be read: ${text.message}\n${usage}`)

  const reader = createShellReader()
  try {
    return await judgeAll(text, file, reader)
  } finally {
    await reader.close()
  }
}

async function judgeAll(text: string, file: string, reader: ShellReader): Promise<number> {
  const counts = { stopped: 0, silent: 0, unread: 0 }
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const payload = readPayload(line)
    if (typeof payload === 'string') {
      complain(`shell-corpus: line ${i + 1} of ${file} ${payload}; it was not judged`)
      counts.unread++
    } else if (await isSilent(payload.cmd, reader)) {
      console.log(`silent ${payload.row} ${payload.name}: ${visible(payload.cmd)}`)
      counts.silent++
    } else counts.stopped++
  }
  const { stopped, silent, unread } = counts
  if (stopped + silent + unread === 0) return complain(`shell-corpus: ${file} holds no lines\n${usage}`)
  console.log(`shell-corpus: ${stopped} stopped, ${silent} silent`)
  if (silent > 0) return 1
  return unread > 0 ? 2 : 0
}

interface Payload {
  readonly row: string
  readonly name: string
  readonly cmd: string
}

/** What is wrong with the line, where it is none. */
function readPayload(line: string): Payload | string {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    return `is no JSON (${(error as Error).message})`
  }
  const { row, name, cmd } = (value ?? {}) as Record<string, unknown>
  if (typeof cmd !== 'string') return 'has no text "cmd"'
  return { row: typeof row === 'string' ? row : '-', name: typeof name === 'string' ? name : '-', cmd }
}

async function isSilent(command: string, { read }: ShellReader): Promise<boolean> {
  const location = { root: '/clone/work', home: '/home/user', isTrusted: false }
  for (const launch of [basePolicy, { mode: 'plan' } as const]) {
    const without = await explainLine(command, { layers: { launch }, location }, read)
    const within = await explainLine(command, { layers: { launch }, location, sandbox }, read)
    if (without.verdict === 'allow' || (within.verdict === 'allow' && !isHarmless(within.confinement))) return true
  }
  return false
}

const sandbox: SandboxSupport = { profiles: ['read-only', 'workspace-write'] }

function isHarmless(place: Explanation['confinement']): boolean {
  if (place === null || place === 'outside') return false
  return place.profile === 'read-only' && place.home === 'empty' && place.reads.length + place.hosts.length === 0
}

/** On one line, in ASCII: a hostile line must not draw on the terminal of who reads about it. */
function visible(text: string): string {
  return JSON.stringify(text).replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function complain(text: string): number {
  console.error(text)
  return 2
}

process.exitCode = await main(process.argv.slice(2))
