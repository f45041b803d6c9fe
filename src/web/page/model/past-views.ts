import { createViewHistory, type RemoteClient } from '../libero.ts'
import { cutEntry } from './cut-entry.ts'

/** The view of a session at any of its entries, with long texts cut as in the conversation. */
export const pastViews = ({ sessions }: RemoteClient, id: string) =>
  createViewHistory(async (after, to) => {
    const { entries } = await sessions.entries(id, { after, before: to + 1, limit: 1000 })
    return entries.map((entry) => cutEntry(entry).entry)
  })
