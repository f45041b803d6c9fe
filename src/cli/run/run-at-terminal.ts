import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import { followEvents } from '../../events/events.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { interactWith } from '../assembly/workspace.ts'
import { UsageError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import type { ChosenModel } from '../models/choose-model.ts'
import { createScreen } from '../screen/screen.ts'
import { createTerminal, type Terminal } from '../screen/terminal.ts'
import { continuesSession, type OpenedAgent, openAgent, runOptions } from './open-agent.ts'
import { openTerminalUser, restoringTerminal } from './person-at.ts'
import { concludeRun, withSession } from './run-outcome.ts'
import { superviseRuns } from './supervise-run.ts'
import type { TerminalUser } from './terminal-user.ts'

interface Place {
  readonly io: Io
  readonly cwd: string
}

/** `libero run` for a person: text to stdout, everything else to the terminal, where there is one. */
export async function runAtTerminal(values: RunValues, task: string | undefined, { io, cwd }: Place): Promise<number> {
  const terminal = createTerminal(io)
  const screen = createScreen({
    terminal: values.schema === undefined ? terminal : withoutAnswer(terminal),
    cwd,
    ...(values.quiet && { isQuiet: true }),
  })
  let opened: OpenedAgent | undefined
  let person: TerminalUser | undefined
  const leave = (): void => {
    person?.close()
    terminal.close()
  }
  const supervisor = superviseRuns(
    restoringTerminal(io, leave),
    () => opened?.agent.abort(),
    (text) => screen.notice(text),
  )
  try {
    if (terminal.isInteractive)
      person = await openTerminalUser({ io, cwd, terminal, screen, onInterrupt: supervisor.interrupt })
    const servers = {
      waiting: screen.waitFor,
      failed: (text: string) => screen.notice(text, 'failure'),
      said: (text: string) => screen.notice(text),
    }
    const seat = person && { person: person.interactor, pick: person.pick }
    const { interactor } = person ?? {}
    const offer = interactor && isAlone(terminal, io, values) && { mayGoOffline: () => offerOffline(interactor) }
    opened = await openAgent(values, { io, cwd, servers, ...seat, ...offer })
    for (const notice of opened.notices) screen.notice(notice, 'warning')
    const { agent, chosen } = opened
    screen.notice(`${nameOf(chosen)} (${chosen.why})`)
    screen.expect(agent.log.transcript.openCalls)
    followEvents(agent, (event) => screen.show(event))
    const isTalk = task === undefined && (!continuesSession(values) || isAlone(terminal, io, values))
    let hasRun = false
    const run = async (prompt: string | undefined): Promise<number> => {
      const flags = hasRun ? withoutPictures(values) : values
      const outcome = await supervisor.resultOf(agent.run(await runOptions(flags, prompt, opened!, cwd)))
      hasRun = true
      return await concludeRun(outcome, opened!, { io, screen, terminal, values, isTalk })
    }
    if (!isTalk) return await run(task)
    if (!person)
      throw new UsageError(`there is no task${whyNoTalk(terminal)}; say it as in: libero "list the files here"`)
    const say = (text: string): void => screen.notice(text, 'warning')
    const { converse } = await import('./converse.ts')
    const exitCode = await converse({
      ask: person.ask,
      run,
      say,
      endsWith: () => supervisor.exitCode,
      isGoingOn: continuesSession(values),
    })
    if (hasRun) screen.end(withSession({ provider: chosen.name, model: chosen.model }, opened, io))
    return exitCode
  } finally {
    screen.close()
    leave()
    await opened?.close()
    supervisor.close()
  }
}

/** They belong to the first task of a conversation: the model has seen them. */
function withoutPictures({ image: _, ...values }: RunValues): RunValues {
  return values
}

/** Somebody types and reads, and no program does either: who goes on with a session there has more to say. */
const isAlone = (terminal: Terminal, { stdin }: Io, { quiet, schema }: RunValues): boolean =>
  terminal.isInteractive && terminal.isStdoutTerminal && stdin.isTTY === true && !quiet && schema === undefined

const whyNoTalk = ({ isInteractive }: Terminal): string =>
  isInteractive
    ? ''
    : ', and a conversation needs a terminal that can do more (TERM is dumb, CI is set, or stderr is a file)'

/** `anthropic claude-…`; a model that has its provider's name is named once. */
const nameOf = ({ name, model }: ChosenModel): string => fullyVisible(name === model ? name : `${name} ${model}`)

/** With a schema, stdout is for the JSON alone. */
const withoutAnswer = (terminal: Terminal): Terminal =>
  Object.create(terminal, { answer: { value: () => {} }, isStdoutTerminal: { value: false } })

/** Asks the person at the terminal whether to go on without a language model. */
export async function offerOffline(person: Interactor): Promise<boolean> {
  const ask = await interactWith(person)
  const prompt =
    'No model is set up yet; libero login does that. Go on with the offline model? It is a small set of rules, not a language model, and needs neither a key nor a network.'
  const answer = await ask({ kind: 'Confirm', payload: { kind: 'Confirm', prompt } }, new AbortController().signal)
  return answer.status === 'accepted'
}
