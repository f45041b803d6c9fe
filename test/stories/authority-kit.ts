import { createMemoryAudit } from '../../src/authority/audit/audit.ts'
import type { AuthorityOptions } from '../../src/authority/authority.ts'
import type { Prompt } from '../../src/authority/interaction/interactor-queue.ts'
import { createAgent, type ToolDef } from '../../src/index.ts'
import { type Step, scripted, tool } from '../../src/testing/index.ts'
import type { AgentOptions, AuditRecord } from '../../src/types.ts'

/** An agent under an authority, who was asked what, what ran, and what was written down about it. */
export function guarded(
  script: readonly Step[],
  authority: AuthorityOptions,
  { answer = () => 'once', ...options }: Partial<AgentOptions> & { answer?: (prompt: Prompt) => unknown } = {},
) {
  const prompts: Prompt[] = []
  const audit = createMemoryAudit()
  const person = (prompt: Prompt): unknown => {
    prompts.push(prompt)
    return answer(prompt)
  }
  const provider = scripted(...script)
  const agent = createAgent({ provider, authority: { audit, interactors: [person], ...authority }, ...options })
  const results = (): string[] =>
    agent.turns.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_result' ? [String(block.output)] : [])),
    )
  return { agent, provider, prompts, records: audit.records as readonly AuditRecord[], results }
}

/** A tool that notes what it was called with. */
export function noting(name: string, more: Partial<ToolDef> = {}): { tools: Record<string, ToolDef>; ran: unknown[] } {
  const ran: unknown[] = []
  const execute = (input: Record<string, unknown>): string => {
    ran.push(input)
    return `${name} ran`
  }
  return { ran, tools: { [name]: tool(name, execute, more) } }
}
