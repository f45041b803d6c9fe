import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { followEvents } from '../../events/events.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { Given } from '../command.ts'
import type { RunValues, runFlags } from '../commands/run.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { createScreen, type RunEnding, type Screen } from '../screen/screen.ts'
import { createTerminal, type Terminal } from '../screen/terminal.ts'
import type { ChosenModel } from '../setup/choose-model.ts'
import { type Attended, watch } from './attend.ts'
import { type OpenedAgent, openAgent } from './open-agent.ts'
import { readTask } from './read-task.ts'
import { picturesOf, runOptions } from './run-options.ts'
import type { Seat } from './seat-person.ts'

/** `libero run`: from the flags to the exit code. */
export async function work({ values, words }: Given<typeof runFlags>, io: Io): Promise<number> {
  const cwd = await folderOf(values.cwd, io)
  await picturesOf(values, cwd) // one that is not there is said before anything is begun
  const stdin = values.events ? 'taken' : isGoingOn(values) ? 'more' : 'task'
  const task = await readTask({ words, prompt: values.prompt }, io, stdin)
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
  const shown = fullyVisible(named)
  const info = await stat(path).catch((cause) => {
    throw new UsageError(`--cwd ${shown}: there is no such folder, or you may not enter it; check the path`, { cause })
  })
  if (!info.isDirectory()) throw new UsageError(`--cwd ${shown} is a file; name a folder`)
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
    Object.create(io, { quit: { value: quit } }),
    () => opened?.agent.abort(),
    (text) => screen.notice(text),
  )
  try {
    if (terminal.isLively) person = await personAt(io, terminal, screen, watching.interrupt)
    opened = await openAgent(values, { io, cwd, ...(person && { person: person.interactor, pick: person.pick }) })
    for (const notice of opened.notices) screen.notice(notice, 'warning')
    const { agent, chosen } = opened
    screen.notice(`${nameOf(chosen)} (${chosen.why})`)
    screen.expect(agent.log.transcript.openCalls)
    followEvents(agent, (event) => screen.show(event))
    const isTalk = task === undefined && (!isGoingOn(values) || isAlone(terminal, io, values))
    let hasRun = false
    const run = async (prompt: string | undefined): Promise<number> => {
      const outcome = await watching.over(agent.run(await runOptions(values, prompt, opened!, cwd)))
      hasRun = true
      return await conclude(outcome, opened!, { io, screen, values, isTalk })
    }
    if (!isTalk) return await run(task)
    if (!person)
      throw new UsageError(`there is no task${whyNoTalk(terminal)}; say it as in: libero "list the files here"`)
    const say = (text: string): void => screen.notice(text, 'warning')
    const { converse } = await import('./converse.ts')
    const exitCode = await converse({ ask: person.ask, run, say, isGoingOn: isGoingOn(values) })
    if (hasRun) screen.end(withSession({ provider: chosen.name, model: chosen.model }, opened))
    return exitCode
  } finally {
    screen.close()
    person?.close()
    terminal.close()
    await opened?.close()
    watching.close()
  }
}

/** Somebody types and reads, and no program does either: who goes on with a session there has more to say. */
const isAlone = (terminal: Terminal, { stdin }: Io, { quiet, schema }: RunValues): boolean =>
  terminal.isLively && terminal.isAnswerShown && stdin.isTTY === true && !quiet && schema === undefined

const whyNoTalk = ({ isLively }: Terminal): string =>
  isLively
    ? ''
    : ', and a conversation needs a terminal that can do more (TERM is dumb, CI is set, or stderr is a file)'

/** `anthropic claude-…`; a model that has its provider's name is named once. */
const nameOf = ({ name, model }: ChosenModel): string => (name === model ? name : `${name} ${model}`)

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
  opened: OpenedAgent,
  { io, screen, values, isTalk }: { io: Io; screen: Screen; values: RunValues; isTalk: boolean },
): Promise<number> {
  if (error === undefined && exitCode === exitCodes.done && values.schema !== undefined)
    io.out(JSON.stringify(stats?.output ?? null))
  const { session, chosen } = opened
  const { name: provider, model } = chosen
  const ending = { provider, model, ...(stats && { stats }) }
  screen.end(isTalk ? ending : withSession(ending, opened))
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

/** How to go on is said once, when it is over. */
const withSession = (ending: RunEnding, { session }: OpenedAgent): RunEnding =>
  session ? { ...ending, sessionId: session.id } : ending
