import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import type { Agent } from '../../core/agent.ts'
import { messageOf } from '../../core/errors.ts'
import type { Session } from '../../core/store.ts'
import { oneLine } from '../../core/text.ts'
import type { AgentStats } from '../../core/usage.ts'
import { sleep } from '../../core/waiting.ts'
import { createAgent } from '../../create-agent.ts'
import { followEvents } from '../../events/events.ts'
import { createProcessContext } from '../../execution/process.ts'
import { coding } from '../../presets/coding.ts'
import { offline } from '../../providers/offline/offline.ts'
import { createSession } from '../../sessions/session.ts'
import { createSqliteStore } from '../../sessions/sqlite-store.ts'
import { unifiedDiff } from '../../tools/text/diff.ts'
import { approvalCalls, approvalRows } from '../../tui/dialogs/approval-calls.ts'
import { createScreen, type Screen } from '../../tui/one-shot/screen.ts'
import { diffLines } from '../../tui/rows/diff-lines.ts'
import { createTerminal, type Terminal } from '../../tui/terminal/terminal.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { type RunResult, superviseRuns } from '../run/supervise-run.ts'
import { programName } from '../text.ts'

const testCommand = 'node --test'
const prompt = `Find the failing test and fix it, with \`${testCommand}\`.`
const model = { provider: 'offline', model: 'offline' }

/** The time limit, in case the machine is too busy. */
const longestMs = 30_000

/** The guided demo: creates a project, lets an agent fix it, removes it. Resolves with the exit code. */
export async function runDemo(io: Io): Promise<number> {
  const project = createDemoProject()
  const terminal = createTerminal(io)
  const screen = createScreen({ terminal, cwd: project.root })
  let agent: Agent | undefined
  const quit = (exitCode: number): void => {
    terminal.close()
    project.remove()
    io.quit(exitCode)
  }
  const supervisor = superviseRuns(
    Object.create(io, { quit: { value: quit } }),
    () => agent?.abort(),
    () => screen.notice('Stopping the demo.'),
  )
  const store = createSqliteStore({ path: join(project.folder, 'sessions.db') })
  const demo = { io, project, terminal, screen }
  try {
    introduce(demo)
    const session = await createSession({ store })
    agent = createDemoAgent(demo, session)
    followEvents(agent, (event) => screen.show(event))
    const result = await supervisor.resultOf(agent.run({ prompt }))
    screen.end({ ...model, ...(result.stats && { stats: result.stats }) })
    if (result.exitCode !== exitCodes.done || result.error !== undefined) return exitCodeOrError(result)
    await showResult(demo, result.stats!, (await store.read(session.id)).length)
    return exitCodes.done
  } finally {
    screen.close()
    await agent?.destroy()
    await store.close()
    project.remove()
    supervisor.close()
  }
}

interface Demo {
  readonly io: Io
  readonly project: DemoProject
  readonly terminal: Terminal
  readonly screen: Screen
}

function createDemoAgent(demo: Demo, session: Session): Agent {
  const { io, project, terminal } = demo
  const path = [dirname(process.execPath), io.env.PATH].filter(Boolean).join(delimiter)
  return createAgent({
    ...coding,
    provider: offline({ delayMs: terminal.isInteractive ? 12 : 0 }),
    session,
    system: `You are in ${project.root}.`,
    // The tests run with the node of this process, so that no other one must be installed.
    execution: createProcessContext({ cwd: project.root, env: { PATH: path } }),
    behavior: { maxTurns: 40, limits: { timeMs: longestMs } },
    authority: {
      mode: 'ask',
      allow: [{ rule: `shell:${testCommand}`, why: 'running the tests changes nothing' }],
      workspace: { root: project.root },
      interactors: [createDemoPerson(demo)],
    },
  })
}

function introduce({ terminal: { line, paint }, screen, project }: Demo): void {
  line(`${paint.bold('libero demo')}  a failing test in a throw-away project, fixed by a real agent`)
  screen.notice(
    'The model is the offline one: rules, not a language model, so no key and no network are needed. Tools, permissions and the session in SQLite are the real ones. Reading and running the tests is allowed; everything else is asked about, and the demo answers for you.',
  )
  screen.notice(`Project: ${project.root}`)
  line(`\n${paint.cyan('you ›')} ${prompt}\n`)
}

async function showResult({ io, project, terminal }: Demo, stats: AgentStats, entryCount: number): Promise<void> {
  const changes = project.changes()
  if (changes.length === 0)
    throw new CliError(
      `The demo could not fix its test on this machine (${oneLine(stats.text, 200)}); to see what is missing: libero doctor`,
    )
  const { line, paint, columns } = terminal
  line(`\n${paint.bold('What changed')}`)
  for (const { path, before, after } of changes) {
    line(path)
    line(diffLines(await unifiedDiff(path, before, after), paint, columns - 1).join('\n'))
  }
  line(paint.dim(`The session had ${entryCount} entries in SQLite; it is removed with the project.`))
  line(`\n${paint.bold('Try next')}`)
  const commands = nextCommands(io)
  const width = Math.max(...commands.map((one) => one.line.length))
  for (const next of commands) line(`  ${paint.cyan(next.line.padEnd(width))}  ${paint.dim(next.description)}`)
}

function exitCodeOrError({ error, exitCode }: RunResult): number {
  if (error === undefined && exitCode !== exitCodes.budget) return exitCode
  const why = error instanceof Error ? error.message : `it took longer than ${longestMs / 1000} seconds`
  throw new CliError(
    `The demo did not finish: ${why}; try it again, and to see what is missing: libero doctor`,
    exitCodes.error,
    { cause: error },
  )
}

/** Answers in place of a person: shows the question as a person would see it, and allows the call once. */
function createDemoPerson({ terminal, screen }: Demo): Interactor {
  const { paint } = terminal
  return {
    name: 'the demo',
    kinds: ['Approve'],
    async present({ payload, signal }) {
      screen.pause()
      try {
        const [call] = approvalCalls(payload)
        terminal.line(approvalRows(call!, terminal).join('\n'))
        await sleep(terminal.isInteractive ? 1200 : 0, { signals: [signal] }) // time to read it
        terminal.line(
          `${paint.green('✓')} allowed once: ${call!.summary} ${paint.dim('(answered by the demo; here you would choose)')}`,
        )
        return 'once'
      } finally {
        screen.resume()
      }
    },
  }
}

/** Commands to try next, with the name by which this program was started. */
export function nextCommands(io: Pick<Io, 'env'>): { line: string; description: string }[] {
  const libero = programName(io)
  return [
    { line: `${libero} login`, description: 'a real model: your key, or a login' },
    { line: `${libero} "list the files here"`, description: 'a task of your own, in this folder' },
    { line: `${libero} sessions`, description: 'what was done, and how to continue it' },
    { line: `${libero} doctor`, description: 'what works on this machine' },
  ]
}

/** A temporary project: a small package with a failing test. */
interface DemoProject {
  /** The parent folder of the project, for files that are not part of it. */
  readonly folder: string
  readonly root: string
  /** The changed files with their former and present content. */
  changes(): { readonly path: string; readonly before: string; readonly after: string }[]
  /** Synchronous and repeatable, because it may run while the process ends. */
  remove(): void
}

/** Creates the project in the folder for temporary files. */
export function createDemoProject(parent: string = tmpdir()): DemoProject {
  let folder: string | undefined
  try {
    folder = realpathSync(mkdtempSync(join(parent, 'libero-demo-')))
    const root = join(folder, 'shop')
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    const made = folder
    return {
      folder: made,
      root,
      changes: () =>
        Object.entries(files).flatMap(([path, before]) => {
          const after = readFileSync(join(root, path), 'utf8')
          return after === before ? [] : [{ path, before, after }]
        }),
      remove: () => rmSync(made, { recursive: true, force: true, maxRetries: 3 }),
    }
  } catch (error) {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
    throw new CliError(
      `The demo cannot make its project in ${parent}: ${messageOf(error)}; set TMPDIR to a folder that can be written`,
      undefined,
      { cause: error },
    )
  }
}

const files: Readonly<Record<string, string>> = {
  'package.json': `${JSON.stringify({ name: 'shop', private: true, type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  'src/cart.js': `export function total(items) {
  return items.reduce((sum, { price, count }) => sum + price * count, 0)
}

export function discounted(items, percent) {
  const whole = total(items)
  const rebate = (whole * percent) / 100
  return whole + rebate
}
`,
  'test/cart.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { discounted, total } from '../src/cart.js'

const items = [
  { price: 10, count: 2 },
  { price: 5, count: 4 },
]

test('adds up what is in the cart', () => {
  assert.equal(total(items), 40)
})

test('takes a discount off', () => {
  assert.equal(discounted(items, 25), 30)
})
`,
}
