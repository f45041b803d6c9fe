import { usePage } from '../frame/page-context.ts'
import { useAnswer } from '../parts/use-answer.ts'

export interface OfferedModel {
  readonly provider: string
  readonly id: string
}

/** The models and profiles that can be chosen; none where the server does not tell. */
export function useOffers(): { readonly models: readonly OfferedModel[]; readonly profiles: readonly string[] } {
  const { client } = usePage()
  const { value: models = [] } = useAnswer(() => client.models() as Promise<readonly OfferedModel[]>, [])
  const { value: settings } = useAnswer(() => client.settings() as Promise<SettingsAnswer>, [])
  const profiles = settings?.settings?.profiles?.value ?? {}
  return { models, profiles: Object.keys(profiles) }
}

interface SettingsAnswer {
  readonly settings?: { readonly profiles?: { readonly value?: object | null } }
}
