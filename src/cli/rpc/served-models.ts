import type { RpcModel } from '../../rpc/host.ts'
import type { Config } from '../config/config.ts'
import type { ModelIo } from '../models/choose-model.ts'

/** The models a client may choose from: those of one provider. */
export interface ServedModels {
  has(model: string): Promise<boolean>
  /** The current model first, even if the provider does not list it. */
  list(current: string): Promise<readonly RpcModel[]>
}

export interface ServedModelsOptions {
  readonly provider: string
  /** The initial model. */
  readonly model: string
  /** The address of the service, if not the default one. */
  readonly baseURL?: string
  readonly config: Config
  readonly io: ModelIo
}

/** Requests the list on first use. If a provider's models cannot be listed, every name is accepted. */
export function servedModels({ provider, model: first, baseURL, config, io }: ServedModelsOptions): ServedModels {
  let loading: Promise<readonly RpcModel[]> | undefined

  async function load(): Promise<readonly RpcModel[]> {
    const { isLoopback } = await import('../models/providers.ts')
    if (baseURL === undefined) {
      const { listModels } = await import('../models/model-list.ts')
      return (await listModels(provider, config, io, { all: true })).map((model) => described(model))
    }
    // The price list does not apply to another address, and only a server of this machine is asked without a key.
    if (!isLoopback(baseURL)) return []
    const { askModels } = await import('../models/local-models.ts')
    return ((await askModels(baseURL, io, listTimeoutMs)) ?? []).map((id) => described({ id, provider }))
  }

  const loaded = (): Promise<readonly RpcModel[]> => {
    loading ??= load().catch(() => {
      loading = undefined // try again next time
      return []
    })
    return loading
  }

  return {
    async has(model) {
      if (model === first) return true
      const models = await loaded()
      const isListed = provider === 'offline' || models.some(({ id }) => id !== first)
      return !isListed || models.some(({ id }) => id === model)
    },
    async list(current) {
      const models = await loaded()
      const one = models.find(({ id }) => id === current) ?? described({ id: current, provider })
      return [one, ...models.filter(({ id }) => id !== current)]
    },
  }
}

const listTimeoutMs = 2000

type Described = Pick<RpcModel, 'id' | 'provider'> & Partial<Omit<RpcModel, 'id' | 'provider'>>

/** The protocol expresses "unknown" as zero and false. */
const described = ({ id, provider, contextWindow = 0, maxOutput = 0, reasoning = false }: Described): RpcModel => ({
  id,
  provider,
  contextWindow,
  maxOutput,
  reasoning,
})
