import type { Agent } from '../../core/agent.ts'

/** Holds an agent and its children up wherever it would say more than a slow reader can take. Returns how to stop that. */
export function holdBack({ hooks }: Pick<Agent, 'hooks'>, isReady: () => Promise<void> | undefined): () => void {
  const unhooks = [
    ...heldMoments.map((moment) => hooks.hook(moment, isReady)),
    hooks.hook('spawn:before', (child) => void holdBack(child, isReady)), // its hooks go when it goes
  ]
  return () => {
    for (const unhook of unhooks) unhook()
  }
}

/** Each of these is awaited by the loop, and given up on when the run is aborted. */
const heldMoments = [
  'turn:before',
  'stream:text',
  'stream:thinking',
  'stream:tool:start',
  'stream:tool:args',
  'turn:after',
  'tool:after',
] as const
