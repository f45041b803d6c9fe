import { type ProposedRule, readGrantRule } from '../../authority/grants/grant-rule.ts'
import { CodedError } from '../../core/errors.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { readLine } from '../input/read-line.ts'
import { boxed } from './boxed.ts'
import { choose } from './choices.ts'
import type { DialogContext } from './dialog.ts'

/** A rule that the person keeps, with all that it allows, in words. */
export interface ChangedRule {
  readonly rule: string
  readonly words: string
}

/**
 * Lets the person change the rule that "always" would keep. A rule that cannot be kept is refused with the reason, and
 * changed further. Before it counts, the dialog says in words what it covers; `undefined` if they go back.
 */
export async function changeRule(proposed: ProposedRule, context: DialogContext): Promise<ChangedRule | undefined> {
  const { terminal, keyboard, ignoreKeysMs: _, ...rest } = context
  const text = await readLine(terminal, keyboard, {
    ...rest,
    prompt: 'Always allow: ',
    initial: proposed.rule,
    escapeLabel: 'back',
  })
  if (text === undefined) return undefined
  const rule = text.trim()
  const again = { ...proposed, rule }
  try {
    const covered = readGrantRule(rule, proposed)
    const words = `always: ${covered}${proposed.place === undefined ? '' : `, ${proposed.place}`}`
    const verdict = await choose(
      {
        choices: [
          { key: 'p', label: `yes, ${words}`, value: 'keep' as const },
          { key: 'c', label: 'change it further', value: 'change' as const },
          { key: 'n', label: 'back', value: 'back' as const },
        ],
        initial: 'back',
        escapeLabel: 'back',
      },
      { ...context, ignoreKeysMs: 0 },
    )
    if (verdict === 'keep') return { rule, words }
    return verdict === 'change' ? await changeRule(again, context) : undefined
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    terminal.line(boxed([fullyVisible(error.sentence)], terminal, () => 'yellow').join('\n'))
    return await changeRule(again, context)
  }
}
