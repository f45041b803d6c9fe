import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import { followEvents } from '../../events/events.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { createScreen } from '../../tui/one-shot/screen.ts'
import { createTerminal, type Terminal } from '../../tui/terminal/terminal.ts'
import { statusText } from '../assembly/sandbox-status.ts'
import { interactWith } from '../assembly/workspace.ts'
import { UsageError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import type { ChosenModel } from '../models/choose-model.ts'
import { continuesSession } from './flag-files.ts'
import { isFullTerminal } from './full-terminal.ts'
import { type OpenedAgent, openAgent, runOptions } from './open-agent.ts'
import { concludeRun } from './run-outcome.ts'
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
    opened = await openAgent(values, {
      io,
      cwd,
      servers,
      ...(person && { person: person.interactor, pick: person.pick }),
      ...(interactor && isFullTerminal(io, values) && { mayGoOffline: () => offerOffline(interactor) }),
    })
    const { agent, chosen, sandbox } = opened
    // --quiet too prints that commands have all rights.
    for (const notice of opened.notices)
      screen.notice(notice, values.quiet && notice === sandbox.notice ? 'failure' : 'warning')
    screen.notice(`${nameOf(chosen)} (${chosen.why})${statusText(sandbox)}`)
    if (sandbox.notice !== undefined) {
      screen.keepShowing('no sandbox')
    }
    screen.expect(agent.log.transcript.openCalls)
    followEvents(agent, (event) => screen.show(event))
    if (task === undefined && !continuesSession(values))
      throw new UsageError(
        `there is no task${whyNoConversation(terminal)}; write it as in: libero "list the files here"`,
      )
    const result = await supervisor.resultOf(agent.run(await runOptions(values, task, opened, cwd)))
    return await concludeRun(result, opened, { io, screen, terminal, values })
  } finally {
    screen.close()
    restore()
    await opened?.close()
    supervisor.close()
  }
}

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
