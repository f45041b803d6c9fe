import { type ComponentType, createElement, type VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { loadUntilThere } from '../model/back-off.ts'
import { Failure } from './failure.tsx'

/** A part of the page whose code is loaded when it is first drawn. Until then there is nothing in its place. */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): (props: Props) => VNode<Props> | null {
  let loaded: ComponentType<Props> | undefined
  return (props) => {
    const [, redraw] = useState({})
    const [failure, setFailure] = useState<unknown>()
    useEffect(() => {
      if (loaded) return
      void loadUntilThere(load, setFailure).then((component) => {
        loaded = component
        redraw({})
      })
    }, [])
    if (loaded) return createElement(loaded, props)
    return failure === undefined ? null : <Failure error={failure} todo={whenNotLoaded} />
  }
}

export const whenNotLoaded =
  'The code of this part could not be loaded. It is tried again; if that does not help, reload the page.'
