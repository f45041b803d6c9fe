import type { ApprovalScope } from '../../../authority/grants/grant.ts'
import type { Choice } from './choices.ts'

/** What somebody may say about a call, or about several. */
export type Verdict = ApprovalScope | 'no' | 'reason' | 'each'

/** How long an approval holds, in words. */
export const scopeWords: Readonly<Record<ApprovalScope, string>> = {
  once: 'once',
  session: 'for this session',
  project: 'always, in this project',
  always: 'always, everywhere',
}

/** The choices for calls with these scopes: nothing that is not offered. `a` is the widest of them. */
export function scopeChoices(offered: unknown, count: number): Choice<Verdict>[] {
  const has = (scope: ApprovalScope): boolean => Array.isArray(offered) && offered.includes(scope)
  const [all, none] = count > 1 ? [', all of them', ', none of them'] : ['', '']
  const yes = (key: string, scope: ApprovalScope, says: string): Choice<Verdict>[] =>
    has(scope) ? [{ key, says: `yes${all}, ${says}`, value: scope }] : []
  return [
    { key: 'y', says: `yes${all}, this once`, value: 'once' },
    ...yes('s', 'session', 'in this session, and those like it'),
    ...yes(has('always') ? 'p' : 'a', 'project', 'always in this project, and those like it'),
    ...yes('a', 'always', 'always and everywhere, and those like it'),
    ...(count > 1 ? [{ key: 'e', says: 'decide on each', value: 'each' as const }] : []),
    { key: 'n', says: `no${none}`, value: 'no' },
    { key: 'r', says: `no${none}, and say why`, value: 'reason' },
  ]
}
