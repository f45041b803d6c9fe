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
import { concludeRun, withSession } from './run-outcome.ts'
import { restoringTerminal, superviseRuns } from './supervise-run.ts'
import type { TerminalUser } from './terminal-user.ts'

/** `libero run` for a person: the answer goes to stdout, everything else to stderr. */
export async function runAtTerminal(
  values: RunValues,
  task: string | undefined,
  { io, cwd }: { readonly io: Io; readonly cwd: string },
): Promise<number> {
  const terminal = createTerminal(io)
  const screen = createScreen({
    terminal: values.schema === undefined ? terminal : withoutAnswer(terminal),
    cwd,
    ...(values.quiet && { isQuiet: true }),
  })
  let opened: OpenedAgent | undefined
  let person: TerminalUser | undefined
  const restore = (): void => {
    person?.close()
    terminal.close()
  }
  const supervisor = superviseRuns(
    restoringTerminal(io, restore),
    () => opened?.agent.abort(),
    (text) => screen.notice(text),
  )
  try {
    if (terminal.isInteractive) {
      const { openTerminalUser } = await import('./terminal-user.ts')
      person = openTerminalUser({ io, cwd, terminal, screen, onInterrupt: supervisor.interrupt })
    }
    const servers = {
      waiting: screen.waitFor,
      failed: (text: string) => screen.notice(text, 'failure'),
      notice: (text: string) => screen.notice(text),
    }
    const interactor = person?.interactor
    const mayConverse = isFullTerminal(terminal, io, values)
    opened = await openAgent(values, {
      io,
      cwd,
      servers,
      ...(person && { person: person.interactor, pick: person.pick }),
      ...(interactor && mayConverse && { mayGoOffline: () => offerOffline(interactor) }),
    })
    for (const notice of opened.notices) screen.notice(notice, 'warning')
    const { agent, chosen } = opened
    screen.notice(`${nameOf(chosen)} (${chosen.why})`)
    screen.expect(agent.log.transcript.openCalls)
    followEvents(agent, (event) => screen.show(event))
    const isConversation = task === undefined && (!continuesSession(values) || mayConverse)
    let hasRun = false
    const run = async (prompt: string | undefined): Promise<number> => {
      const { image: _, ...withoutImages } = values
      const flags = hasRun ? withoutImages : values // the model has seen them with the first task
      const result = await supervisor.resultOf(agent.run(await runOptions(flags, prompt, opened!, cwd)))
      hasRun = true
      return await concludeRun(result, opened!, { io, screen, terminal, values, isConversation })
    }
    if (!isConversation) return await run(task)
    if (!person)
      throw new UsageError(
        `there is no task${whyNoConversation(terminal)}; write it as in: libero "list the files here"`,
      )
    const { converse } = await import('./converse.ts')
    const exitCode = await converse({
      ask: person.ask,
      run,
      showError: (text) => screen.notice(text, 'warning'),
      exitCode: () => supervisor.exitCode,
      continuesSession: continuesSession(values),
    })
    if (hasRun) screen.end(withSession({ provider: chosen.name, model: chosen.model }, opened, io))
    return exitCode
  } finally {
    screen.close()
    restore()
    await opened?.close()
    supervisor.close()
  }
}

/** A person both types and reads, and no other program is at either end: a resumed session becomes a conversation. */
const isFullTerminal = (terminal: Terminal, { stdin }: Io, { quiet, schema }: RunValues): boolean =>
  terminal.isInteractive && terminal.isStdoutTerminal && stdin.isTTY === true && !quiet && schema === undefined

const whyNoConversation = ({ isInteractive }: Terminal): string =>
  isInteractive
    ? ''
    : ', and a conversation needs an interactive terminal (TERM is dumb, CI is set, or stderr is a file)'

/** `anthropic claude-…`; the name alone if the model is called like its provider. */
const nameOf = ({ name, model }: ChosenModel): string => fullyVisible(name === model ? name : `${name} ${model}`)

/** With `--schema`, only the JSON is written to stdout. */
const withoutAnswer = (terminal: Terminal): Terminal =>
  Object.create(terminal, { answer: { value: () => {} }, isStdoutTerminal: { value: false } })

/** Asks the person whether to continue without a language model. */
async function offerOffline(person: Interactor): Promise<boolean> {
  const ask = await interactWith(person)
  const prompt =
    'No model is set up yet; libero login does that. Use the offline model for now? It is a small set of rules, not a language model, and needs neither a key nor a network.'
  const answer = await ask({ kind: 'Confirm', payload: { kind: 'Confirm', prompt } }, new AbortController().signal)
  return answer.status === 'accepted'
}
