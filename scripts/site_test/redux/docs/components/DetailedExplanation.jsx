// Closed details, in place of the book's own component, which its folder does not have.
import React from 'react';

export const DetailedExplanation = ({children, title = 'Detailed Explanation'}) => (
  <details>
    <summary>{title}</summary>
    {children}
  </details>
);
