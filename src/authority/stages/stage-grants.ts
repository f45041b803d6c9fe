import { messageOf } from '../../core/errors.ts'
import { digestOfJson } from '../../platform/canonical-json.ts'
import type { StageVerdict } from '../decide.ts'
import type { Stage, StageProposal } from './stages.ts'

/** Remembers which approvals were used up. */
export interface Tokens {
  has(token: string): boolean
  /** Takes effect at once; resolves when it is written down. */
  consume(token: string): Promise<void>
}

/** What a stage says about a call beyond its own tools. An approval serves this one call and no other. */
export async function grantFor(stage: Stage, proposal: StageProposal, tokens: Tokens): Promise<StageVerdict> {
  const token = digestOfJson(proposal)
  if (tokens.has(token)) return consumed(proposal)
  const grant = await ask(stage, proposal)
  if (grant !== 'approve') return grant
  if (tokens.has(token)) return consumed(proposal) // somebody used it while the stage was thinking
  await tokens.consume(token)
  return { verdict: 'token' }
}

async function ask(stage: Stage, proposal: StageProposal): Promise<StageVerdict | 'approve'> {
  const { allowedTools = [], completionTool } = stage
  const known = [...allowedTools, completionTool].join(', ')
  const why = `"${proposal.tool}" is not for the stage "${stage.id}", which has ${known}`
  if (!stage.grantStageTool) return deny('StageToolDenied', why)
  try {
    const grant = await stage.grantStageTool(proposal)
    if (grant === 'approve') return grant
    return grant === 'defer' ? { verdict: 'defer' } : deny('StageToolDenied', why)
  } catch (error) {
    return deny('StageGrantFailed', `the stage "${stage.id}" could not decide: ${messageOf(error)}`)
  }
}

const consumed = ({ proposalId, tool }: StageProposal): StageVerdict =>
  deny('GrantTokenAlreadyConsumed', `the permission for call ${proposalId} of "${tool}" was used already`)

const deny = (code: string, why: string): StageVerdict => ({ verdict: 'deny', code, why })
