import { isSameGrant } from '../../authority/grants/grant.ts'
import { placeWords } from '../../authority/interaction/approval-options.ts'
import { formatDate } from '../../platform/format.ts'
import type { CommandWork } from '../lazy-command.ts'

export const grants: CommandWork = {
  async run(_, { chat, screen }) {
    const kept = chat.agent?.authority?.grants
    if (!kept) throw new Error('This agent has no authority that decides about calls, so it keeps no approvals')
    await kept.load()
    const all = kept.list()
    if (all.length === 0) return screen.print('No approval is kept')
    const items = all.map(({ tool, covers, scope, project, sessionId, within, grantedAt }) => ({
      label: `${tool}: ${covers}`,
      detail: [
        scope === 'project' ? `always in ${project}` : `in the session ${sessionId}`,
        ...(within ? [placeWords(within)] : []),
        formatDate(grantedAt),
      ].join('; '),
    }))
    const index = await screen.choose({ title: 'Kept approvals: choose one to revoke it', items })
    const chosen = index === undefined ? undefined : all[index]
    if (!chosen) return
    await kept.revoke((grant) => isSameGrant(grant, chosen))
    screen.print(`Revoked: ${chosen.tool}: ${chosen.covers}`)
  },
}
