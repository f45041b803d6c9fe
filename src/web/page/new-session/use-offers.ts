import { usePage } from '../frame/page-context.ts'
import type { RemoteModel } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { useAnswer } from '../parts/use-answer.ts'

/** The models and profiles that can be chosen; none where the server does not tell. */
export function useOffers(): { readonly models: readonly RemoteModel[]; readonly profiles: readonly string[] } {
  const { client, offers, sessions } = usePage()
  const { value: models = [] } = useAnswer(async () => ((await offers('models')) ? client.models() : []), [])
  // Profiles are told with the settings of a session; those of the latest one are offered.
  const latest = useModel(sessions, (state) => state.sessions?.find(({ kind }) => kind !== 'agent')?.id)
  const { value: settings } = useAnswer(
    async () => (latest !== undefined && (await offers('workspaces')) ? client.sessions.settings(latest) : undefined),
    [latest],
  )
  return { models, profiles: settings?.profiles ?? [] }
}
