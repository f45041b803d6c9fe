import { existsSync } from 'node:fs'
import { nearest } from '../../core/nearest.ts'
import type { Provider } from '../../core/provider.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'
import { credentialsPathOf, hasCredentials, missingKeyError, storedNames, variableOf } from './credentials.ts'
import { findLocal, firstLocal } from './local-models.ts'
import { isLoopback, type KnownProvider, knownProviders } from './providers.ts'

/** The model that flags ask for. The rest comes from the config, from stored credentials, or from this machine. */
export interface ModelRequest {
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly apiKey?: string | undefined
  readonly baseURL?: string | undefined
}

export interface ChosenModel {
  readonly provider: Provider
  readonly name: string
  readonly model: string
  /** The reason for the choice, for a person: `ANTHROPIC_API_KEY is set`. */
  readonly why: string
  /** The provider is from the settings, so nothing else is known about it. */
  readonly isConfigured?: true
}

/**
 * Chooses the model. `--model openai/gpt-5.5` also names the provider, unless the config's provider has model names
 * with a vendor before the slash. If neither a flag nor the config names a provider, it is the first one with a key in
 * the environment, in the order of `knownProviders`; else the first one with a stored login; else a local Ollama or LM
 * Studio. Otherwise this throws a `NoModelError`: the offline model is used only if it is named.
 */
export async function chooseModel(request: ModelRequest, config: Config, io: ModelIo): Promise<ChosenModel> {
  const known = knownProviders(config)
  const named = namedProvider(request, config, known)
  if (named) return create(named, request, io)
  if (request.apiKey !== undefined || request.baseURL !== undefined)
    throw new UsageError(
      `the ${request.apiKey === undefined ? 'address' : 'key'} needs a provider: add --provider, one of ${[...known.keys()].join(', ')}`,
    )
  const model = request.model ?? config.model
  const found = (await findByKey(known, io)) ?? (await findLocally(known, model, io))
  if (found) return create({ ...(model !== undefined && { model }), ...found }, request, io)
  if (request.model !== undefined)
    throw new CliError(
      `no provider was found for the model "${fullyVisible(request.model)}": name one with --provider, or run: libero login (to try without a key: --provider offline)`,
    )
  throw new NoModelError()
}

/** Neither flags nor settings name a model, and none was found on this machine. */
export class NoModelError extends CliError {
  constructor() {
    super(
      'no model is set up: there is no key, no login, and neither Ollama nor LM Studio answers on this machine. Run: libero login, or set a key such as ANTHROPIC_API_KEY (to try without one: --provider offline)',
    )
  }
}

export type ModelIo = Pick<Io, 'env' | 'home' | 'fetch'>

interface ProviderChoice {
  readonly provider: KnownProvider
  readonly model?: string
  readonly why: string
}

function namedProvider(
  request: ModelRequest,
  config: Config,
  known: ReadonlyMap<string, KnownProvider>,
): ProviderChoice | undefined {
  if (request.provider !== undefined) {
    const provider = requireKnown(request.provider, known)
    const model = request.model ?? (config.provider === provider.name ? config.model : undefined)
    return { provider, why: `--provider ${provider.name}`, ...withoutProvider(provider, model) }
  }
  const usual = config.provider === undefined ? undefined : requireKnown(config.provider, known, 'config')
  const meant = request.model !== undefined && !usual?.vendors ? splitName(request.model, known) : undefined
  if (meant) return { ...meant, why: `--model ${fullyVisible(request.model ?? '')}` }
  if (usual)
    return { provider: usual, why: 'provider in the config', ...withoutProvider(usual, request.model ?? config.model) }
  const configured = request.model === undefined && config.model !== undefined && splitName(config.model, known)
  return configured ? { ...configured, why: 'model in the config' } : undefined
}

/** The provider of that name; the error for an unknown one suggests what was probably meant. */
export function requireKnown(
  name: string,
  known: ReadonlyMap<string, KnownProvider>,
  namedBy?: 'config',
): KnownProvider {
  const provider = known.get(name)
  if (provider) return provider
  const [meant] = nearest(name, known.keys(), 1)
  throw new UsageError(
    `there is no provider "${fullyVisible(name.slice(0, 40))}"${namedBy ? ', which the config names' : ''}${meant ? `, did you mean ${meant}?` : ''} (there are ${[...known.keys()].join(', ')})`,
    namedBy && { see: namedBy },
  )
}

/** `openai/gpt-5.5` names both, if the part before the first slash is a provider. */
function splitName(name: string, known: ReadonlyMap<string, KnownProvider>): Omit<ProviderChoice, 'why'> | undefined {
  const slash = name.indexOf('/')
  const provider = slash > 0 ? known.get(name.slice(0, slash)) : undefined
  return provider && { provider, ...withoutProvider(provider, name) }
}

/** The name of a model without the provider before it; `openrouter/auto` is a complete name. */
function withoutProvider({ name, vendors }: KnownProvider, model: string | undefined): { readonly model?: string } {
  if (model === undefined) return {}
  const rest = model.startsWith(`${name}/`) ? model.slice(name.length + 1) : model
  return { model: rest === '' || (vendors === 'always' && !rest.includes('/')) ? model : rest }
}

async function findByKey(known: ReadonlyMap<string, KnownProvider>, io: ModelIo): Promise<ProviderChoice | undefined> {
  const rented = [...known.values()].filter(({ isFree }) => !isFree)
  for (const provider of rented) {
    const variable = variableOf(provider, io)
    if (variable) return { provider, why: `${variable} is set` }
  }
  const stored = await storedNames(io)
  const provider = rented.find(({ name }) => stored.has(name))
  return provider && { provider, why: `there is a login for ${provider.name}` }
}

async function findLocally(
  known: ReadonlyMap<string, KnownProvider>,
  model: string | undefined,
  io: ModelIo,
): Promise<ProviderChoice | undefined> {
  const local = await findLocal(
    [...known.values()].filter(({ isLocal }) => isLocal),
    io,
  )
  // A requested model is never silently replaced by another one.
  const found = local.find(({ models }) => (model === undefined ? models.length > 0 : models.includes(model)))
  if (!found) return undefined
  const { provider, models } = found
  return { provider, why: `${provider.name} answers on this machine`, model: model ?? models[0]! }
}

async function create(
  { provider: known, model, why }: ProviderChoice,
  { apiKey, baseURL }: ModelRequest,
  io: ModelIo,
): Promise<ChosenModel> {
  const address = baseURL ?? known.baseURL
  const isFree = known.isFree || (known.isFreeOnLoopback && address !== undefined && isLoopback(address))
  if (!isFree && !apiKey?.trim() && !(await hasCredentials(known, io))) throw missingKeyError(known)
  const wanted = model ?? (known.isLocal && address !== undefined ? await firstLocal(known, address, io) : undefined)
  const options = {
    env: io.env,
    credentialsPath: existsSync(credentialsPathOf(io)) && credentialsPathOf(io),
    ...(apiKey?.trim() && { apiKey }),
    ...(baseURL !== undefined && { baseURL }),
    ...(wanted !== undefined && { defaultModel: wanted }),
  }
  const provider = await known.create(options).catch((error) => {
    throw error instanceof TypeError ? new UsageError(error.message, { cause: error }) : error
  })
  return {
    provider,
    name: known.name,
    model: wanted ?? provider.meta.defaultModel,
    why,
    ...(known.isConfigured && { isConfigured: true as const }),
  }
}
