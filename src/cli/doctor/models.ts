import { messageOf } from '../../core/errors.ts'
import { chooseModel, NoModelError } from '../models/choose-model.ts'
import { credentialsPathOf, openCredentials, variableOf } from '../models/credentials.ts'
import { findLocal } from '../models/local-models.ts'
import { knownProviders } from '../models/providers.ts'
import { broken, type Check, missing, ok } from './check.ts'

/** Which keys there are, and where; never what they are. */
export const credentials: Check = {
  name: 'keys',
  async look({ io, config }) {
    try {
      const set = [...knownProviders(await config).values()].flatMap((provider) => {
        const variable = variableOf(provider, io)
        return variable === undefined ? [] : [`${provider.name} (${variable})`]
      })
      const stored = await (await openCredentials(io)).list()
      const kept = stored.map(({ name, type }) => `${name} (${type === 'oauth' ? 'login' : 'key'} in credentials.json)`)
      if (set.length + kept.length > 0) return ok([...set, ...kept].join(', '))
    } catch (error) {
      return broken(messageOf(error), `correct ${credentialsPathOf(io)} by hand, or remove it and log in again`)
    }
    return missing('there are none', 'libero login, or set a variable such as ANTHROPIC_API_KEY')
  },
}

/** Servers with models on this machine. */
export const localServers: Check = {
  name: 'local models',
  async look({ io, config }) {
    const local = [...knownProviders(await config).values()].filter(({ isLocal }) => isLocal)
    const found = await findLocal(local, io)
    if (found.length > 0)
      return ok(found.map(({ provider, models }) => `${provider.name} with ${models.length} models`).join(', '))
    const names = local.map(({ name, baseURL }) => `${name} at ${baseURL}`).join(', ')
    return missing(`nobody answers (${names})`, 'install Ollama from https://ollama.com, then: ollama pull gpt-oss:20b')
  },
}

/** Which model a run would have. */
export const chosenModel: Check = {
  name: 'model',
  isEssential: true,
  async look({ io, config }) {
    try {
      const { name, model, why } = await chooseModel({}, await config, io)
      if (name === 'offline') return missing(`offline, a stand-in that is not a language model: ${why}`, 'libero login')
      return ok(`${name}/${model}: ${why}`)
    } catch (error) {
      if (error instanceof NoModelError)
        return missing(
          'none is set up; programs get an error, and the terminal offers the offline model',
          'libero login',
        )
      return broken(messageOf(error), 'libero login, or libero config set provider <name>')
    }
  },
}
