import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { PageModel } from '../model/page-model.ts'

export const PageContext = createContext<PageModel | undefined>(undefined)

/** The model that all screens share. */
export function usePage(): PageModel {
  const page = useContext(PageContext)
  if (!page) throw new Error('usePage is for components inside App')
  return page
}
