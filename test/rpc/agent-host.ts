import { outcomeOf } from '../../src/cli/run/run-outcome.ts'
import type { Agent } from '../../src/core/agent.ts'
import { followEvents } from '../../src/events/index.ts'
import type { RpcModel } from '../../src/rpc/host.ts'
import type { RpcHost } from '../../src/rpc/index.ts'

/** A minimal host. */
export function hostOf(agent: Agent, more: Partial<RpcHost> = {}): RpcHost {
  let model = agent.meta.defaultModel
  let ready: () => Promise<void> | undefined = () => undefined
  agent.hooks.hook('stream:text', () => ready())
  return {
    version: '0.0.0',
    provider: agent.meta.name,
    cwd: '/desk/project',
    get model() {
      return model
    },
    follow: (listener) => followEvents(agent, listener),
    prompt(message, images) {
      const pictures = images.map(({ mimeType, data }) => ({ type: 'image', mediaType: mimeType, data }) as const)
      const text = message === '' ? [] : [{ type: 'text', text: message } as const]
      return outcomeOf(agent.run({ prompt: [...text, ...pictures], model }))
    },
    compact: async () => 'a summary',
    abort: () => agent.abort(),
    clear: () => agent.reset(),
    messages: () => agent.turns,
    async setModel(name) {
      if (!models.some(({ id }) => id === name)) throw new Error('no such model')
      model = name
    },
    models: async () => models,
    applyBackpressure(isReady) {
      ready = isReady
    },
    ...more,
  }
}

const models: RpcModel[] = ['script-1', 'script-2'].map((id) => ({
  id,
  provider: 'scripted',
  contextWindow: 1000,
  maxOutput: 100,
  reasoning: false,
}))
