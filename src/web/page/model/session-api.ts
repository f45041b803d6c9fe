import type { RemoteClient, RemoteFiles, RemoteRollbackRequest, RemoteSettingsChange } from '../libero.ts'

export type ChangedFile = RemoteFiles['files'][number]
export type RollbackScope = NonNullable<RemoteRollbackRequest['what']>

/** What the screen of a session does with it beside reading its log. */
export function sessionApi({ sessions }: RemoteClient, id: string) {
  return {
    settings: () => sessions.settings(id),
    changeSettings: (change: RemoteSettingsChange) => sessions.changeSettings(id, change),
    takeBack: (key: string) => sessions.takeBack(id, key),
    files: () => sessions.files(id),
    fileDiff: (path: string) => sessions.fileDiff(id, path),
    planRollback: (to: number, what: RollbackScope) => sessions.planRollback(id, { to, what }),
    rollback: (to: number, what: RollbackScope, { force = false } = {}) =>
      sessions.rollback(id, { to, what, ...(force && { force }) }),
    undoRollback: () => sessions.undoRollback(id),
    completions: (text: string, caret: number) => sessions.completions(id, text, caret),
    runCommand: (line: string) => sessions.runCommand(id, line),
    why: (callId: string) => sessions.why(id, callId),
    context: (draft: string) => sessions.context(id, draft === '' ? {} : { draft }),
  }
}

export type SessionApi = ReturnType<typeof sessionApi>
