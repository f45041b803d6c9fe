import type { Shared } from '../../src/plugins/plugin-hooks.ts'

/** What a prompt is put together with beside its tree. */
export function sharedParts(): Pick<Shared<'processPrompts'>, 'agentFrameworkContext' | 'metadata' | 'actions'> {
  const agent = {
    id: 'a',
    definitionId: 'd',
    messages: [],
    status: { state: 'working', modified: 0 },
    states: new Map(),
  } as const
  return {
    agentFrameworkContext: { agent, agentDef: { id: 'd' }, isCancelled: () => false },
    metadata: {},
    actions: {},
  }
}
