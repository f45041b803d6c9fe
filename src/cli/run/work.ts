import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { followEvents } from '../../events/events.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { Given } from '../command.ts'
import type { RunValues, runFlags } from '../commands/run.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { createScreen, type Screen } from '../screen/screen.ts'
import { createTerminal, type Terminal } from '../screen/terminal.ts'
import { type Attended, watch } from './attend.ts'
import { type OpenedAgent, openAgent } from './open-agent.ts'
import { readTask } from './read-task.ts'
import { runOptions } from './run-options.ts'
import type { Seat } from './seat-person.ts'

/** `libero run`: from the flags to the exit code. */
export async function work({ values, words }: Given<typeof runFlags>, io: Io): Promise<number> {
  const cwd = await folderOf(values.cwd, io)
  const task = values.events
    ? values.prompt
    : await readTask({ words, ...(values.prompt !== undefined && { prompt: values.prompt }) }, io)
  if (values.json || values.events)
    return (await import('./work-for-program.ts')).workForProgram(values, task, { io, cwd })
  if (task === undefined && !isGoingOn(values) && !io.stdin.isTTY)
    throw new UsageError('there is no task; say it as in: libero "list the files here", or pipe it in')
  return await atTerminal(values, task, { io, cwd })
}

const isGoingOn = ({ resume, continue: goesOn }: RunValues): boolean => resume !== undefined || goesOn === true

async function folderOf(named: string | undefined, io: Io): Promise<string> {
  if (named === undefined) return io.cwd
  const path = resolve(io.cwd, named)
  const info = await stat(path).catch((cause) => {
    throw new UsageError(`--cwd ${named}: there is no such folder, or it cannot be entered`, { cause })
  })
  if (!info.isDirectory()) throw new UsageError(`--cwd ${named} is no folder`)
  return path
}

interface Place {
  readonly io: Io
  readonly cwd: string
}

async function atTerminal(values: RunValues, task: string | undefined, { io, cwd }: Place): Promise<number> {
  const terminal = createTerminal(io)
  const screen = createScreen({
    terminal: values.schema === undefined ? terminal : withoutAnswer(terminal),
    cwd,
    ...(values.quiet && { isQuiet: true }),
  })
  let opened: OpenedAgent | undefined
  let person: Seat | undefined
  // Whoever quits at once leaves a terminal behind that somebody goes on with.
  const quit = (exitCode: number): void => {
    person?.close()
    terminal.close()
    io.quit(exitCode)
  }
  const watching = watch(
    { ...io, quit },
    () => opened?.agent.abort(),
    (text) => screen.notice(text),
  )
  try {
    if (terminal.isLively) person = await personAt(io, terminal, screen, watching.interrupt)
    opened = await openAgent(values, { io, cwd, ...(person && { person: person.interactor, pick: person.pick }) })
    for (const notice of opened.notices) screen.notice(notice, 'warning')
    const { agent, chosen } = opened
    if (!values.quiet) screen.notice(`${chosen.name} ${chosen.model} (${chosen.why})`)
    screen.expect(agent.log.transcript.openCalls)
    followEvents(agent, (event) => screen.show(event))
    const runTask = async (prompt: string | undefined): Promise<number> => {
      const outcome = await watching.over(agent.run(await runOptions(values, prompt, opened!, cwd)))
      return await conclude(outcome, opened!, { io, screen, values })
    }
    if (task !== undefined || isGoingOn(values)) return await runTask(task)
    if (!person) throw new UsageError('there is no task; say it as in: libero "list the files here"')
    return await (await import('./converse.ts')).converse(person.ask, runTask, (text) => screen.notice(text, 'warning'))
  } finally {
    screen.close()
    person?.close()
    terminal.close()
    await opened?.close()
    watching.close()
  }
}

/** With a schema, stdout is for the JSON alone. */
const withoutAnswer = (terminal: Terminal): Terminal =>
  Object.create(terminal, { answer: { value: () => {} }, isAnswerShown: { value: false } })

async function personAt(io: Io, terminal: Terminal, screen: Screen, onInterrupt: () => void) {
  const { openKeyboard } = await import('../screen/keys.ts')
  const keyboard = openKeyboard(io)
  if (!keyboard) return undefined
  const { seatPerson } = await import('./seat-person.ts')
  const { isForeground, suspend } = await import('./foreground.ts')
  return seatPerson({ terminal, keyboard, screen, onInterrupt, isForeground, suspend })
}

async function conclude(
  { stats, error, exitCode }: Attended,
  { session, chosen }: OpenedAgent,
  { io, screen, values }: { io: Io; screen: Screen; values: RunValues },
): Promise<number> {
  if (error === undefined && exitCode === exitCodes.done && values.schema !== undefined)
    io.out(JSON.stringify(stats?.output ?? null))
  const { name: provider, model } = chosen
  screen.end({ provider, model, ...(stats && { stats }), ...(session && { sessionId: session.id }) })
  if (error !== undefined) {
    const { explainFailure } = await import('../explain-failure.ts')
    const explained = explainFailure(error, { env: io.env, provider, model })
    throw new CliError(explained.message, exitCode === exitCodes.error ? explained.exitCode : exitCode, {
      cause: error,
    })
  }
  if (exitCode === exitCodes.permission && session) {
    const { whatWaits } = await import('./what-waits.ts')
    for (const line of await whatWaits(session)) io.err(line)
  }
  return exitCode
}
