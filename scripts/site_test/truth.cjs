// remark plugin of the test: `data-src="START-END"`, the source lines of a block, on its element.
//
// It is the ground truth for landed links: neither the widget nor the index knows it.
const KINDS = new Set(['paragraph', 'code', 'table', 'list', 'blockquote', 'math']);

module.exports = function truth() {
  return (root) => {
    const visit = (node, parent) => {
      const children = node.children ?? [];
      children.forEach((child, index) => {
        if (child.position && KINDS.has(child.type)) {
          const source = `${child.position.start.line}-${child.position.end.line}`;
          if (child.type === 'code') {
            // A code block's properties do not reach the page: its wrapper's do.
            children[index] = {
              type: 'mdxJsxFlowElement',
              name: 'div',
              attributes: [{type: 'mdxJsxAttribute', name: 'data-src', value: source}],
              children: [child],
              data: {_mdxExplicitJsx: true},
            };
            return;
          }
          // The paragraph of a tight list's item has no element of its own.
          const tight = child.type === 'paragraph' && node.type === 'listItem' && !node.spread && !parent?.spread;
          const target = tight ? node : child;
          target.data ??= {};
          target.data.hProperties ??= {};
          target.data.hProperties['data-src'] ??= source;
        }
        visit(child, node);
      });
    };
    visit(root, null);
  };
};
