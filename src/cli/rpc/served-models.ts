import type { RpcModel } from '../../rpc/host.ts'
import type { Config } from '../config/config.ts'
import type { ModelIo } from '../models/choose-model.ts'

/** The models a wire may choose from: those of one provider. */
export interface ServedModels {
  has(model: string): Promise<boolean>
  /** The present one first, whether anybody lists it or not. */
  list(present: string): Promise<readonly RpcModel[]>
}

export interface ServedModelsOptions {
  readonly provider: string
  /** The model it began with. */
  readonly model: string
  /** Where the service is, if not at its usual place. */
  readonly baseURL?: string
  readonly config: Config
  readonly io: ModelIo
}

/** Asks nobody before the first question. Where nobody can list a provider's models, every name is taken as given. */
export function servedModels({ provider, model: first, baseURL, config, io }: ServedModelsOptions): ServedModels {
  let loading: Promise<readonly RpcModel[]> | undefined

  async function load(): Promise<readonly RpcModel[]> {
    const { isLoopback } = await import('../models/providers.ts')
    if (baseURL === undefined) {
      const { listModels } = await import('../models/model-list.ts')
      return (await listModels(provider, config, io, { all: true })).map((model) => described(model))
    }
    // Somewhere else than usual, the usual list says nothing; and only a server of this machine may be asked without a key.
    if (!isLoopback(baseURL)) return []
    const { askModels } = await import('../models/local-models.ts')
    return ((await askModels(baseURL, io, listTimeoutMs)) ?? []).map((id) => described({ id, provider }))
  }

  const loaded = (): Promise<readonly RpcModel[]> => {
    loading ??= load().catch(() => {
      loading = undefined // a server that was not there may be later
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
    async list(present) {
      const models = await loaded()
      const one = models.find(({ id }) => id === present) ?? described({ id: present, provider })
      return [one, ...models.filter(({ id }) => id !== present)]
    },
  }
}

const listTimeoutMs = 2000

type Described = Pick<RpcModel, 'id' | 'provider'> & Partial<Omit<RpcModel, 'id' | 'provider'>>

/** The wire has no word for "nobody knows" but zero and false. */
const described = ({ id, provider, contextWindow = 0, maxOutput = 0, reasoning = false }: Described): RpcModel => ({
  id,
  provider,
  contextWindow,
  maxOutput,
  reasoning,
})
