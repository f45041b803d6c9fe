import { type ComponentType, createElement, type VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** A part of the page whose code is loaded when it is first drawn. Until then there is nothing in its place. */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): (props: Props) => VNode<Props> | null {
  let loaded: ComponentType<Props> | undefined
  return (props) => {
    const [, redraw] = useState({})
    useEffect(() => {
      if (loaded) return
      load()
        .then((component) => {
          loaded = component
          redraw({})
        })
        .catch((error: unknown) => console.error('A part of the page could not be loaded; reload it.', error))
    }, [])
    return loaded ? createElement(loaded, props) : null
  }
}
