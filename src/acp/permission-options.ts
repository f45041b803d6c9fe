import type { ApprovalCard, ApprovalChoice } from '../chat/approval-card.ts'
import { oneLine } from '../core/text.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import type { PermissionOption } from './protocol.ts'

/** The choices of an approval as options of a client, each with what it covers in words. */
export function permissionOptions({ choices, words }: Pick<ApprovalCard, 'choices' | 'words'>): {
  readonly options: PermissionOption[]
  /** An option that was not offered is no. */
  choiceOf(optionId: string): ApprovalChoice
} {
  return {
    options: choices.map((choice) => {
      const covers = words[choice]
      const name = covers === undefined ? names[choice] : `Allow ${fullyVisible(covers)}`
      return { optionId: choice, name: oneLine(name, longestName), kind: kinds[choice] }
    }),
    choiceOf: (optionId) => choices.find((choice) => choice === optionId) ?? 'deny',
  }
}

const longestName = 300

/** If the authority has no words of its own. */
const names: Readonly<Record<ApprovalChoice, string>> = {
  allow: 'Allow once',
  'allow-outside': 'Allow once, outside of the sandbox',
  'allow-session': 'Allow for this session',
  'allow-project': 'Allow for this project',
  deny: 'Deny',
}

const kinds: Readonly<Record<ApprovalChoice, PermissionOption['kind']>> = {
  allow: 'allow_once',
  'allow-outside': 'allow_once',
  'allow-session': 'allow_always',
  'allow-project': 'allow_always',
  deny: 'reject_once',
}
