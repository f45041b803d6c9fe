import type { ChatSettings } from './chat.ts'

/** Whether these settings need an agent of their own. Others are those of the next run. */
export function needsAgent(now: ChatSettings, { model, profile, folder }: Partial<ChatSettings>): boolean {
  return (
    (model !== undefined && model.provider !== now.model.provider) ||
    (profile !== undefined && profile !== now.profile) ||
    (folder !== undefined && folder !== now.folder)
  )
}

/** The settings of an agent, with what the person chose. */
export function withChosen(settings: ChatSettings, chosen: Partial<ChatSettings>): ChatSettings {
  const given = Object.entries(chosen).filter(([, value]) => value !== undefined)
  return { ...settings, ...Object.fromEntries(given) }
}

/** The settings that need no agent of their own. */
export function withoutAgent({ thinking, mode }: Partial<ChatSettings>): Partial<ChatSettings> {
  return { ...(thinking !== undefined && { thinking }), ...(mode !== undefined && { mode }) }
}
