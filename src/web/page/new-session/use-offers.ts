import { usePage } from '../frame/page-context.ts'
import type { RemoteModel } from '../libero.ts'
import { useAnswer } from '../parts/use-answer.ts'

/** The models and profiles that can be chosen; none where the server does not tell. */
export function useOffers(): { readonly models: readonly RemoteModel[]; readonly profiles: readonly string[] } {
  const { client } = usePage()
  const { value: models = [] } = useAnswer(() => client.models(), [])
  const { value: settings } = useAnswer(() => client.settings() as Promise<SettingsAnswer>, [])
  const profiles = settings?.settings?.profiles?.value ?? {}
  return { models, profiles: Object.keys(profiles) }
}

interface SettingsAnswer {
  readonly settings?: { readonly profiles?: { readonly value?: object | null } }
}
