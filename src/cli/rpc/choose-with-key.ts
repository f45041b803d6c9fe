import { CliError } from '../cli-error.ts'
import type { RpcValues } from '../commands/rpc.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'
import { type ChosenModel, chooseModel } from '../models/choose-model.ts'

/** The model that was asked for. A program that meant a real one must not get another without being told. */
export async function chooseWithKey(values: RpcValues, config: Config, io: Io): Promise<ChosenModel> {
  const { provider, model, 'api-key': apiKey, 'base-url': baseURL } = values
  const chosen = await chooseModel({ provider, model, apiKey, baseURL }, config, io)
  const isMeant = chosen.name !== 'offline' || provider === 'offline' || config.provider === 'offline'
  if (isMeant || model?.startsWith('offline')) return chosen
  throw new CliError(
    'no credentials were found: set a key such as ANTHROPIC_API_KEY, run: libero login, or name a model that needs none with --provider offline',
  )
}
