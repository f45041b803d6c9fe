import type { InteractionResponse } from '../../core/interaction.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { boxed } from './boxed.ts'
import { type Choice, choose, chooseFromList } from './choices.ts'
import type { DialogContext } from './dialog.ts'

type Payload = Readonly<Record<string, unknown>>
type Verdict = 'trust' | 'once' | 'some' | 'decline' | 'later'

/** Asks whether a project, or parts of it, are trusted. Shows the whole summary. Esc postpones the decision. */
export async function trust(payload: Payload, context: DialogContext): Promise<InteractionResponse> {
  const { terminal } = context
  const { paint } = terminal
  const path = fullyVisible(String(payload.path))
  const summary = fullyVisible(String(payload.summary), { lines: 'kept' }).split('\n')
  const heading = paint.bold(paint.yellow('? Do you trust this project?'))
  terminal.line(['', heading, ...boxed([path, ...summary], terminal)].join('\n'))
  return await decide(payload, context)
}

async function decide(payload: Payload, context: DialogContext): Promise<InteractionResponse> {
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
  const options = { title: [''], choices, initial: 'decline', onEscape: 'later', escapeLabel: 'not now' } as const
  const verdict = await choose<Verdict>(options, context)
  if (verdict === 'later') {
    terminal.line(`${paint.red('✗')} not trusted for now`)
    return { status: 'rejected', reason: '' }
  }
  if (verdict !== 'some') {
    terminal.line(
      verdict === 'decline' ? `${paint.red('✗')} not trusted` : `${paint.green('✓')} ${trustLabels[verdict]}`,
    )
    return { status: 'accepted', value: verdict }
  }
  const names = items.map((item) => fullyVisible(item))
  const next = { ...context, ignoreKeysMs: 0 }
  const chosen = await chooseFromList({ items: names, isMultiple: true }, next)
  if (!chosen) return await decide(payload, next)
  terminal.line(`${paint.green('✓')} trusted: ${chosen.map((i) => names[i]).join(', ') || 'nothing of it'}`)
  return { status: 'accepted', value: chosen.map((i) => items[i]) }
}

const trustLabels = { trust: 'trusted', once: 'trusted this once' }
