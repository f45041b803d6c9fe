import type { InteractionResponse } from '../../../core/interaction.ts'
import { fullyVisible } from '../../../platform/visible-text.ts'
import { boxed } from './boxed.ts'
import { type Choice, choicesView, listView } from './choices.ts'
import { type DialogContext, runDialog } from './dialog.ts'

type Verdict = 'trust' | 'once' | 'some' | 'decline' | 'later'

/** Asks whether a project, or what it brings, is trusted. All of the summary is shown. Esc decides nothing. */
export async function trust(
  payload: Readonly<Record<string, unknown>>,
  context: DialogContext,
): Promise<InteractionResponse> {
  const { terminal } = context
  const { paint } = terminal
  const path = fullyVisible(String(payload.path))
  const summary = fullyVisible(String(payload.summary), { lines: 'kept' }).split('\n')
  const heading = paint.bold(paint.yellow('? Do you trust this project?'))
  terminal.line(['', heading, ...boxed([path, ...summary], terminal)].join('\n'))
  return await decide(payload, context)
}

async function decide(
  payload: Readonly<Record<string, unknown>>,
  context: DialogContext,
): Promise<InteractionResponse> {
  const { terminal } = context
  const { paint } = terminal
  const isWhole = payload.about === undefined || payload.about === 'project'
  const items = Array.isArray(payload.items) ? payload.items.map(String) : []
  const choices: Choice<Verdict>[] = [
    { key: 't', label: isWhole ? 'trust it, and remember that' : 'trust all of it, and remember that', value: 'trust' },
    { key: 'o', label: 'trust it this once', value: 'once' },
    ...(items.length > 1 ? [{ key: 'c', label: 'choose what to trust', value: 'some' as const }] : []),
    { key: 'd', label: isWhole ? 'decline, and remember that' : 'do not trust it', value: 'decline' },
  ]
  const title = ['']
  const ways = { initial: 'decline', onEscape: 'later', escapeLabel: 'not now' } as const
  const verdict = await runDialog(choicesView<Verdict>({ title, choices, ...ways }, terminal), context)
  if (verdict === 'later') {
    terminal.line(`${paint.red('✗')} not trusted for now`)
    return { status: 'rejected', reason: '' }
  }
  if (verdict !== 'some') {
    terminal.line(saying[verdict](paint))
    return { status: 'accepted', value: verdict }
  }
  const names = items.map((item) => fullyVisible(item))
  const chosen = await runDialog(listView({ items: names, isMultiple: true }, terminal), {
    ...context,
    ignoreKeysMs: 0,
  })
  if (!chosen) return await decide(payload, { ...context, ignoreKeysMs: 0 })
  terminal.line(`${paint.green('✓')} trusted: ${chosen.map((i) => names[i]).join(', ') || 'nothing of it'}`)
  return { status: 'accepted', value: chosen.map((i) => items[i]) }
}

const saying: Readonly<Record<'trust' | 'once' | 'decline', (paint: DialogContext['terminal']['paint']) => string>> = {
  trust: (paint) => `${paint.green('✓')} trusted`,
  once: (paint) => `${paint.green('✓')} trusted this once`,
  decline: (paint) => `${paint.red('✗')} not trusted`,
}
