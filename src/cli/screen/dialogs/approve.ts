import type { InteractionResponse } from '../../../core/interaction.ts'
import { fullyVisible } from '../../../platform/visible-text.ts'
import { readLine } from '../read-line.ts'
import { cutToWidth } from '../text-width.ts'
import { scopeChoices, scopeWords, type Verdict } from './approve-choices.ts'
import { type AskedCall, askedCalls, askedRows } from './asked-calls.ts'
import { choicesView } from './choices.ts'
import { type DialogPlace, runDialog } from './dialog.ts'

type Payload = Readonly<Record<string, unknown>>

/**
 * Asks whether a call may run: it is shown and stays in the scrollback, and only a clear yes is one. All of it is shown,
 * but for the end of a long diff.
 */
export async function approve(payload: Payload, place: DialogPlace): Promise<InteractionResponse> {
  const calls = askedCalls(payload)
  const { terminal } = place
  const rows = calls.flatMap((call, i) => {
    const number = calls.length > 1 ? `${i + 1} of ${calls.length}. ` : ''
    return askedRows({ ...call, title: `${number}${call.title}` }, terminal)
  })
  terminal.line(rows.join('\n'))
  return await decide(payload, calls, rows.length, place)
}

async function decide(
  payload: Payload,
  calls: readonly AskedCall[],
  shownRows: number,
  place: DialogPlace,
): Promise<InteractionResponse> {
  const verdict = await choose(payload, calls, shownRows, place)
  const about = calls.map((call) => call.about).join(', ')
  if (verdict === 'each') return await decideEach(calls, place)
  if (verdict === 'no') return refused('', about, place)
  if (verdict !== 'reason') {
    const { paint } = place.terminal
    say(`${paint.green('✓')} allowed ${scopeWords[verdict]}: ${about}`, place)
    return { status: 'accepted', value: { scope: verdict } }
  }
  const { terminal, keyboard, quietMs: _, ...rest } = place
  const reason = await readLine(terminal, keyboard, { ...rest, prompt: 'No, because: ', escapeSays: 'back' })
  if (reason === undefined) return await decide(payload, calls, shownRows, { ...place, quietMs: 0 })
  return refused(reason.trim(), about, place)
}

async function choose(
  { scopes }: Payload,
  calls: readonly AskedCall[],
  shownRows: number,
  place: DialogPlace,
): Promise<Verdict> {
  const { terminal } = place
  const { paint } = terminal
  const isLong = shownRows > terminal.rows - 10
  const heading = calls.length > 1 ? `Allow these ${calls.length} calls?` : calls[0]!.title
  const title = [
    '',
    // What is asked is still in sight where it is one thing that fits the screen.
    ...(isLong || calls.length > 1 ? [paint.bold(heading)] : []),
    ...(isLong ? [paint.yellow(`  ${shownRows} lines above: scroll up and read all of it`)] : []),
  ]
  const choices = scopeChoices(scopes, calls.length)
  return await runDialog(
    choicesView({ title, choices, initial: 'no', onEscape: 'no', escapeSays: 'no' }, terminal),
    place,
  )
}

/** Call by call: what is not allowed by its own yes is not allowed. */
async function decideEach(calls: readonly AskedCall[], place: DialogPlace): Promise<InteractionResponse> {
  const { terminal } = place
  const { paint } = terminal
  const verdicts: Record<string, 'allow' | 'deny'> = {}
  for (const [i, { id, about }] of calls.entries()) {
    const verdict = await runDialog(
      choicesView<'allow' | 'deny'>(
        {
          title: [paint.bold(cutToWidth(`${i + 1} of ${calls.length}: ${about}`, terminal.columns - 1))],
          choices: [
            { key: 'y', says: 'yes, this once', value: 'allow' },
            { key: 'n', says: 'no', value: 'deny' },
          ],
          initial: 'deny',
          onEscape: 'deny',
          escapeSays: 'no',
        },
        terminal,
      ),
      place,
    )
    verdicts[id] = verdict
    say(
      verdict === 'allow' ? `${paint.green('✓')} allowed once: ${about}` : `${paint.red('✗')} not allowed: ${about}`,
      place,
    )
  }
  return { status: 'accepted', value: { calls: verdicts } }
}

function refused(reason: string, about: string, place: DialogPlace): InteractionResponse {
  const because = reason === '' ? '' : ` (${fullyVisible(reason)})`
  say(`${place.terminal.paint.red('✗')} not allowed${because}: ${about}`, place)
  return { status: 'rejected', reason }
}

/** One line: what it is about stands above, whole. */
function say(line: string, { terminal }: DialogPlace): void {
  terminal.line(cutToWidth(line, terminal.columns - 1))
}
