/** A session that the person has not begun yet. */
export interface NewSessionDraft {
  readonly text: string
  readonly folder?: string
  readonly model?: string
  readonly mode?: string
  readonly profile?: string
}

/** Kept in this browser, because there is no session yet that could keep it on the server. */
export const newSessionDraft = {
  read(): NewSessionDraft {
    try {
      const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '{}')
      return { text: '', ...(kept as object) }
    } catch {
      return { text: '' }
    }
  },
  save(draft: NewSessionDraft): void {
    localStorage.setItem(key, JSON.stringify(draft))
  },
  clear(): void {
    localStorage.removeItem(key)
  },
}

const key = 'libero-new-session'
