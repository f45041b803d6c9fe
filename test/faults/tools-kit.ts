import { execFile, spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { ExecutionContext } from '../../src/core/execution.ts'
import { createProcessContext, type ProcessContextOptions } from '../../src/execution/process.ts'
import { type AgentOptions, createAgent, type ToolDef } from '../../src/index.ts'
import { codingTools } from '../../src/presets/index.ts'
import { call, type Step, scripted } from '../../src/testing/index.ts'
import { askUser, presentPlan } from '../../src/tools/index.ts'

/** Every tool that we ship. */
export const everyTool: Readonly<Record<string, ToolDef>> = { ...codingTools, askUser, presentPlan }

export interface Answer {
  readonly output: string
  readonly isError: boolean
}

export interface WorldOptions extends Partial<AgentOptions> {
  readonly place?: ProcessContextOptions
  /** Puts something between the tools and the real files and processes. */
  readonly wrap?: (real: ExecutionContext) => ExecutionContext
}

export type World = ReturnType<typeof openWorld>

/** A folder of its own, and an agent with all tools that works in `project`, a folder in it. */
export function openWorld({ place, wrap = (real) => real, ...options }: WorldOptions = {}) {
  const around = realpathSync(mkdtempSync(join(tmpdir(), 'libero-faults-')))
  const root = join(around, 'project')
  mkdirSync(root)
  const provider = scripted()
  const execution = options.execution ?? wrap(createProcessContext({ cwd: root, ...place }))
  const agent = createAgent({ tools: everyTool, ...options, provider, execution })
  const at = (name: string): string => join(root, name)
  let n = 0

  return {
    ...{ around, root, at, provider, execution, agent },
    put(name: string, content: string | Uint8Array): void {
      mkdirSync(dirname(at(name)), { recursive: true })
      writeFileSync(at(name), content)
    },
    held: (name: string): string => readFileSync(at(name), 'utf8'),
    /** Has the model call one tool; gives what it is told. */
    async use(name: string, input: Record<string, unknown> = {}): Promise<Answer> {
      const id = `call-${++n}`
      provider.push([call(id, name, input)], 'fin')
      await agent.run({ prompt: 'go' })
      return answersOf(agent.turns).get(id)!
    },
    /** Has the model make several turns of calls; gives what it is told, by call id. */
    async play(...steps: Step[]): Promise<ReadonlyMap<string, Answer>> {
      provider.push(...steps, 'fin')
      await agent.run({ prompt: 'go' })
      return answersOf(agent.turns)
    },
    async close(): Promise<void> {
      await agent.destroy()
      rmSync(around, { recursive: true, force: true })
    },
  }
}

type Turns = ReturnType<typeof openWorld>['agent']['turns']

/** What each call was answered with. */
export function answersOf(turns: Turns): ReadonlyMap<string, Answer> {
  const blocks = turns.flatMap(({ content }) => content)
  const results = blocks.flatMap((block) => (block.type === 'tool_result' ? [block] : []))
  return new Map(results.map(({ callId, output, isError = false }) => [callId, { output: textOf(output), isError }]))
}

/** Calls without a result. */
export function openCallsOf(turns: Turns): string[] {
  const answers = answersOf(turns)
  const blocks = turns.flatMap(({ content }) => content)
  return blocks.flatMap((block) => (block.type === 'tool_call' && !answers.has(block.id) ? [block.id] : []))
}

const textOf = (output: unknown): string => (typeof output === 'string' ? output : JSON.stringify(output))

/** What the model is to read: an error with these words, or with `ok` a success. */
export type Expected = RegExp | { readonly ok: RegExp }
export const ok = (words: RegExp): Expected => ({ ok: words })

/** What is wrong with an answer: that it is another one, or that it does not say what to do. Empty if nothing is wrong. */
export function wrongIn({ output, isError }: Answer, expected: Expected): string[] {
  const isFailure = expected instanceof RegExp
  const words = isFailure ? expected : expected.ok
  const wrong = flawsOf(output)
  if (!words.test(output)) wrong.push(`it does not say ${words}`)
  if (isError !== isFailure) wrong.push(isError ? 'it is marked as an error' : 'it is not marked as an error')
  return wrong.length > 0 ? [...wrong, output] : []
}

/** What no model should have to read. */
export function flawsOf(text: string): string[] {
  return Object.entries(flaws).flatMap(([name, isThere]) => (isThere(text) ? [name] : []))
}

const flaws: Readonly<Record<string, (text: string) => boolean>> = {
  'a stack trace': (text) => /^\s+at \S/m.test(text),
  'an object shown as its type': (text) => text.includes('[object '),
  undefined: (text) => /\bundefined\b|\bNaN\b/.test(text),
  'internals of node': (text) => /node:|node_modules|\/proc\/\w+\/fd\/|\.[jt]s:\d/.test(text),
  'too long': (text) => text.length >= 2000,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  'control characters': (text) => /[\x00-\x08\x0b-\x1f\x7f-\x9f]/.test(text),
  'half characters': (text) => !text.isWellFormed(),
  nothing: (text) => text.trim() === '',
}

/** Only there is a table of processes that is read like files. */
export const onLinux = process.platform === 'linux'

let sleeps = 0

/** A sleep that nothing else on this machine does, to be looked for in the table of processes. */
export const longSleep = (): string => `sleep 9${process.pid}${++sleeps}.${Math.floor(Math.random() * 1e6)}`

/** Processes with this text in their command line or environment. */
export function processesWith(text: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return []
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      if (line === '') return [] // dead, and not collected yet
      return line.includes(text) || readFileSync(`/proc/${pid}/environ`, 'utf8').includes(text) ? [line] : []
    } catch {
      return [] // it has just ended
    }
  })
}

/** How many threads of this process are workers. */
export function workerThreads(): number {
  const threads = readdirSync('/proc/self/task').map((id) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8'))
  return threads.filter((name) => name.startsWith('WorkerThread')).length
}

/** Waits until something is so; the bound only stops a hang. */
export async function until(isSo: () => boolean, what: string, boundMs = 15_000): Promise<void> {
  for (const end = performance.now() + boundMs; !isSo(); await sleep(5))
    if (performance.now() > end) throw new Error(`waited ${boundMs} ms in vain until ${what}`)
}

export const untilThere = (text: string): Promise<void> => until(() => processesWith(text).length > 0, `"${text}" runs`)
export const untilGone = (text: string): Promise<void> =>
  until(() => processesWith(text).length === 0, `"${text}" ends`)

/** Runs a script in a process of its own, perhaps under some `ulimit`; it has to end by itself. It finds this kit as `kit`. */
export async function asProgram(
  folder: string,
  script: string,
  { uid, limits = 'true' }: { uid?: number; limits?: string } = {},
): Promise<{ stdout: string; stderr: string; code?: unknown; killed?: boolean }> {
  const path = join(folder, `program-${crypto.randomUUID()}.ts`)
  writeFileSync(path, `import * as kit from ${JSON.stringify(import.meta.url)}\n${script}`)
  chmodSync(path, 0o644)
  const run = `${limits}; exec "$0" --conditions=libero-source --disable-warning=ExperimentalWarning "$1"`
  const options = { cwd: '/', timeout: 15_000, ...(uid !== undefined && { uid, gid: uid }) }
  return promisify(execFile)('/bin/sh', ['-c', run, process.execPath, path], options).catch((failed) => failed)
}

/** Whether another user of this machine could run such a script: this folder may be closed to others. */
export function canRunAs(uid: number): boolean {
  if (!onLinux || process.getuid?.() !== 0) return false
  const script = `require('node:fs').readFileSync(${JSON.stringify(fileURLToPath(import.meta.url))})`
  return spawnSync(process.execPath, ['-e', script], { uid, gid: uid, cwd: '/' }).status === 0
}
